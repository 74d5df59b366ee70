"""The models that are run: where each is in the tree, how it is built, which calls are its inference, what is published of its time.

An entry is a function of `Run`; it builds the model with the tree's own test helpers where there are some, and puts the inference into `run.measured()`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VISION = "models.demos.vision"


@dataclass(frozen=True)
class Model:
    """batch: samples per inference. published: samples per second of kernel time by card, from the tree's own device-performance tests.

    test: (module, function) of a test of the tree that is called as it is, with the first of its parameters where `values` says nothing.
    reference: (name, module, class): the test's function `name` that reads a stored network gives a random one of the class instead.
    """

    name: str
    family: str
    build: Callable[[Run], Any] | None = None
    test: tuple[str, str] | None = None
    values: dict[str, Any] = field(default_factory=dict)
    batch: int = 1
    cards: tuple[str, ...] = ("n150", "p150")
    published: dict[str, float] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    reference: tuple[str, str, str] | None = None
    timeout_s: int = 600


@dataclass
class Run:
    """device: open. start, stop: what measures an inference on the simulator."""

    device: Any
    card: str
    start: Callable[[], None]
    stop: Callable[[], None]

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        self.start()
        yield
        self.stop()


MODELS: dict[str, Model] = {}
_FIXTURES = {
    "reset_seeds": None,
    "function_level_defaults": None,
    "is_ci_env": False,
    "is_ci_v2_env": False,
    "enable_async_mode": None,
    "use_program_cache": None,
}


def model(name: str, family: str, **facts: Any) -> Callable[[Callable[[Run], Any]], Callable[[Run], Any]]:
    def add(build: Callable[[Run], Any]) -> Callable[[Run], Any]:
        MODELS[name] = Model(name, family, build, **facts)
        return build

    return add


def test(name: str, family: str, module: str, function: str, **facts: Any) -> None:
    """A model that a test of the tree builds and runs; all its programs are the inference, as in the tree's own measurements."""
    MODELS[name] = Model(name, family, test=(module, function), **facts)


def device_parameters(entry: Model) -> dict[str, Any]:
    if entry.test is None:
        return entry.device
    given = dict(_first_parameters(getattr(load(entry.test[0]), entry.test[1])).get("device_params") or {})
    known = ("l1_small_size", "trace_region_size", "num_command_queues", "worker_l1_size")
    return {key: given[key] for key in known if key in given} | entry.device


def start(entry: Model, run: Run) -> None:
    """Builds and runs the model."""
    if entry.build is not None:
        entry.build(run)
        return
    assert entry.test is not None
    function = getattr(load(entry.test[0]), entry.test[1])
    fixtures = {**_FIXTURES, "device": run.device, "mesh_device": run.device, "model_location_generator": location}
    known = _first_parameters(function) | fixtures | entry.values
    names = inspect.signature(function).parameters
    function = inspect.unwrap(function)
    if entry.reference is not None:
        name, module, network = entry.reference
        function.__globals__[name] = lambda *_, **__: getattr(load(module), network)().eval()
    with run.measured():
        function(**{name: known[name] for name in names if name in known})


def _first_parameters(function: Any) -> dict[str, Any]:
    """The first value of each `pytest.mark.parametrize`."""
    found: dict[str, Any] = {}
    for mark in getattr(function, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        names = mark.args[0].replace(" ", "").split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
        first = next(iter(mark.args[1]))
        first = getattr(first, "values", first) if type(first).__name__ == "ParameterSet" else first
        found |= dict(zip(names, first if len(names) > 1 or type(first).__name__ == "ParameterSet" else [first], strict=False))
    return found


def load(module: str) -> Any:
    return importlib.import_module(module)


def location(name: str, *_: Any, **__: Any) -> Path:
    """The tree's fixture `model_location_generator`, where nothing is stored."""
    return Path(name)


def _resnet50(run: Run, batch: int) -> None:
    import ttnn

    tests = load(f"{VISION}.classification.resnet50.ttnn_resnet.tests.common.resnet50_test_infra")
    infra = tests.create_test_infra(run.device, batch, ttnn.bfloat8_b, ttnn.bfloat8_b, ttnn.MathFidelity.LoFi, False)
    host, memory = infra.setup_l1_sharded_input(run.device)
    infra.input_tensor = host.to(run.device, memory)
    infra.run()
    infra.input_tensor = host.to(run.device, memory)
    with run.measured():
        infra.run()


@model("resnet50_b16", "ResNet", batch=16, published={"n150": 6140, "p150": 10610}, device={"l1_small_size": 24576})
def resnet50_b16(run: Run) -> None:
    _resnet50(run, 16)


@model("resnet50_b32", "ResNet", batch=32, cards=("p150",), published={"p150": 12960}, device={"l1_small_size": 24576})
def resnet50_b32(run: Run) -> None:
    _resnet50(run, 32)


@model("vit_b8", "ViT", batch=8, cards=("n150",), published={"n150": 1560}, device={"l1_small_size": 32768})
def vit_b8(run: Run) -> None:
    _vit(run, 8)


@model("vit_b10", "ViT", batch=10, cards=("p150",), published={"p150": 4500}, device={"l1_small_size": 32768})
def vit_b10(run: Run) -> None:
    _vit(run, 10)


def _vit(run: Run, batch: int) -> None:
    import ttnn

    tests = load(f"{VISION}.classification.vit.common.tests.vit_test_infra")
    infra = tests.create_test_infra(run.device, batch, use_random_input_tensor=True)
    host, dram, memory = infra.setup_dram_sharded_input(run.device)
    image = host.to(run.device, dram)
    with run.measured():
        infra.input_tensor = ttnn.to_memory_config(image, memory)
        output = infra.run()
        ttnn.to_memory_config(output, ttnn.DRAM_MEMORY_CONFIG)


@model("bert_large_b8", "BERT", batch=8, cards=("n150",), published={"n150": 371}, timeout_s=900)
def bert_large_b8(run: Run) -> None:
    import torch
    import transformers

    parts = load("models.demos.metal_BERT_large_11.tt.bert_model")
    configs = load("models.demos.metal_BERT_large_11.tt.model_config")
    config = configs.get_model_config(8, run.device.compute_with_storage_grid_size(), "BFLOAT8_B-SHARDED")
    reference = transformers.BertForQuestionAnswering.from_pretrained("phiyodr/bert-large-finetuned-squad2")
    bert = parts.TtBertBatchDram(reference.config, reference, run.device, config, configs.get_tt_cache_path("scratch"))
    ids = torch.randint(0, 1000, (8, 384))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    mask, embedded = bert.model_attention_mask(**inputs), bert.embeddings.preprocess_embedding_inputs(**inputs)
    with run.measured():
        mask = mask.to(run.device, config["OP4_SOFTMAX_ATTENTION_MASK_MEMCFG"])
        embedded = {key: value.to(run.device, config["INPUT_EMBEDDINGS_MEMCFG"]) for key, value in embedded.items()}
        bert(bert.model_embedding(**embedded), mask).cpu()


EXPERIMENTAL, INTEGRATION = "models.experimental", "tests.ttnn.integration_tests"
RANDOM = {"use_pretrained_weight": False, "use_pretrained_weights": False, "pretrained": False}
N150, P150 = ("n150",), ("p150",)

test(
    "sentence_bert",
    "SentenceBERT",
    "models.demos.wormhole.sentence_bert.tests.pcc.test_ttnn_sentencebert_model",
    "test_ttnn_sentence_bert_model",
    batch=8,
    cards=N150,
    published={"n150": 460},
)
test("bge_large", "BGE", "models.demos.wormhole.bge_large_en.tests.pcc.test_ttnn_bge_model", "test_ttnn_bge_model", batch=8, cards=N150, timeout_s=1200)
test("bert_tiny", "BERT-tiny", f"{INTEGRATION}.bert_tiny.test_bert_tiny_wh", "test_bert_for_question_answering", batch=8, values={"num_hidden_layers": 2})
test(
    "distilbert",
    "DistilBERT",
    f"{INTEGRATION}.distilbert.test_ttnn_distilbert_wh",
    "test_distilbert_for_question_answering",
    batch=8,
    cards=N150,
    published={"n150": 245},
)
test(
    "squeezebert",
    "SqueezeBERT",
    f"{INTEGRATION}.squeezebert.test_ttnn_squeezebert",
    "test_squeezebert_for_question_answering",
    batch=8,
    published={"n150": 299.7},
)
test(
    "mobilenetv2",
    "MobileNetV2",
    f"{VISION}.classification.mobilenetv2.tests.pcc.test_mobilenetv2",
    "test_mobilenetv2",
    values=RANDOM,
    batch=10,
    published={"n150": 3730},
)
test(
    "vgg_unet",
    "VGG-UNet",
    f"{VISION}.segmentation.vgg_unet.wormhole.tests.pcc.test_vgg_unet",
    "test_vgg_unet",
    cards=N150,
    published={"n150": 293},
    values=RANDOM,
)
test(
    "segformer",
    "SegFormer",
    f"{VISION}.segmentation.segformer.tests.pcc.test_segformer_for_semantic_segmentation",
    "test_segformer_for_semantic_segmentation",
    cards=N150,
    published={"n150": 211},
)
test(
    "vanilla_unet",
    "UNet",
    f"{VISION}.segmentation.vanilla_unet.tests.test_unet_model",
    "test_vanilla_unet_model",
    published={"n150": 206, "p150": 400},
    reference=("load_reference_model", f"{VISION}.segmentation.vanilla_unet.reference.model", "UNet"),
)
test(
    "unet_shallow", "shallow UNet", f"{EXPERIMENTAL}.functional_unet.tests.test_unet_perf", "test_unet_model", batch=16, published={"n150": 1669, "p150": 3150}
)
test(
    "ufld_v2",
    "UFLD",
    f"{VISION}.segmentation.ufld_v2.wormhole.tests.pcc.test_ttnn_ufld_v2",
    "test_ufld_v2_model",
    cards=N150,
    published={"n150": 350},
    values=RANDOM,
)
test(
    "vgg_unet_blackhole",
    "VGG-UNet",
    f"{VISION}.segmentation.vgg_unet.blackhole.tests.pcc.test_vgg_unet",
    "test_vgg_unet",
    cards=P150,
    published={"p150": 522},
    values=RANDOM,
)
test(
    "ufld_v2_blackhole",
    "UFLD",
    f"{VISION}.segmentation.ufld_v2.blackhole.tests.pcc.test_ttnn_ufld_v2",
    "test_ufld_v2_model",
    cards=P150,
    published={"p150": 595},
    values=RANDOM,
)
test(
    "sentence_bert_blackhole",
    "SentenceBERT",
    "models.demos.blackhole.sentence_bert.tests.pcc.test_ttnn_sentencebert_model",
    "test_ttnn_sentence_bert_model",
    batch=8,
    cards=P150,
    published={"p150": 1015},
)
test("vgg16", "VGG", f"{INTEGRATION}.vgg.test_ttnn_vgg16", "test_vgg16", cards=N150, published={"n150": 365})
test("mnist", "MNIST", f"{INTEGRATION}.mnist.test_mnist", "test_mnist", batch=128, published={"n150": 1161176})
test("vgg11", "VGG", f"{INTEGRATION}.vgg.test_ttnn_vgg11", "test_vgg11", published={"n150": 448})
test("swin_s", "Swin", f"{EXPERIMENTAL}.swin_s.tests.pcc.test_ttnn_swin_transformer", "test_swin_s_transformer", values=RANDOM, published={"n150": 13.1106})
test("swin_v2", "SwinV2", f"{EXPERIMENTAL}.swin_v2.tests.pcc.test_ttnn_swin_v2_s", "test_swin_s_transformer", values=RANDOM, published={"n150": 17.9})
test("vovnet", "VoVNet", f"{EXPERIMENTAL}.vovnet.tests.pcc.test_tt_vovnet", "test_vovnet_model_inference", published={"n150": 163.85})
test(
    "efficientnetb0",
    "EfficientNet",
    f"{EXPERIMENTAL}.efficientnetb0.tests.pcc.test_ttnn_efficientnetb0",
    "test_efficientnetb0_model",
    published={"n150": 227},
    values=RANDOM,
)
test("ssd512", "SSD", f"{EXPERIMENTAL}.SSD512.tests.pcc.test_ssd", "test_ssd512_network", published={"n150": 50})
test("unet_3d", "UNet 3D", "models.demos.unet_3d.tests.pcc.test_model", "test_model")
test("whisper_encoder", "Whisper", "models.demos.audio.whisper.tests.test_whisper_modules", "test_encoder")
test(
    "sd_resnet_block",
    "Stable Diffusion",
    f"{VISION}.generative.stable_diffusion.wormhole.tests.test_resnet_block_2d",
    "test_resnet_block_2d_512x512",
    cards=N150,
)
test(
    "sd_transformer_block",
    "Stable Diffusion",
    f"{VISION}.generative.stable_diffusion.wormhole.tests.test_basic_transformer_block",
    "test_basic_transformer_block_512x512",
    cards=N150,
)
test("retinanet_stem", "RetinaNet", f"{EXPERIMENTAL}.retinanet.tests.pcc.test_resnet50_stem", "test_stem")
test("openpdn_mnist", "OpenPDN", f"{INTEGRATION}.openpdn_mnist.test_ttnn_openpdn_mnist", "test_openpdn_mnist_model")

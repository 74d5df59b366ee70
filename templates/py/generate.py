"""Greedy text of a language model: the same file in every emitted program that has a step of decoding."""

import argparse
import json
import sys
from collections.abc import Callable

import numpy as np
import ttnn

import utils
from utils import MANIFEST, SIMULATOR, Weights


class Calls:
    """The entry points on this device. What a call returns anew of the weights (caches) is in their place for the next one; device_ns: of all calls."""

    def __init__(self, calls: dict[str, Callable], weights: Weights, device: ttnn.MeshDevice):
        self._calls, self._weights, self._device = calls, weights, device
        self.device_ns = 0

    def tensor(self, name: str, values: object) -> ttnn.Tensor:
        """Whole numbers on the device as input `name` wants them."""
        entry = MANIFEST["tensors"][name]
        host = ttnn.Tensor(np.array(values).reshape(entry["shape"]).astype(entry["dtype"]), getattr(ttnn, entry["dtype"]))
        return ttnn.to_device(ttnn.to_layout(host, getattr(ttnn, entry["layout"])), self._device)

    def __call__(self, entry: str, inputs: dict[str, ttnn.Tensor], logits: str, row: int = 0) -> tuple[dict[str, ttnn.Tensor], ttnn.Tensor | None]:
        """Outputs by name, and the likeliest token [users, 1, 1] in `row` of the logits; without logits None."""
        facts = MANIFEST.get("entries", {}).get(entry) or MANIFEST["entry"]
        if SIMULATOR:
            SIMULATOR.begin_forward()
        results = self._calls[entry](*(inputs[name] for name in facts["inputs"]))
        results = results if isinstance(results, tuple) else (results,)
        tensors = [tensor for result in results for tensor in (result if isinstance(result, list) else [result])]
        found = dict(zip(facts["outputs"], tensors, strict=True))
        for name, tensor in found.items():
            target = MANIFEST["outputs"][name].get("mutates")
            if target:
                self._weights[target] = ttnn.to_layout(tensor, self._weights[target].layout)
        chosen = None
        if logits:
            values = ttnn.to_layout(found[logits], ttnn.ROW_MAJOR_LAYOUT)
            users, rows, words = values.shape
            if rows > 1:
                values = ttnn.slice(values, [0, row, 0], [users, row + 1, words])
            found[logits], chosen = values, ttnn.argmax(values, dim=-1, keepdim=True)
        if SIMULATOR:
            self.device_ns += SIMULATOR.end_forward()["device_ns"]
        return found, chosen


class Text:
    """What was generated. ties: (token, user) where the two best logits lie closer than the program's numeric error."""

    def __init__(self, logits: dict) -> None:
        self.error = 2 * (logits.get("unedited_max_abs_err") or 0.0)  # of the difference of two logits
        self.tokens: list[list[int]] = []
        self.ties: list[tuple[int, int]] = []

    def add(self, chosen: ttnn.Tensor, logits: ttnn.Tensor) -> None:
        best = np.sort(utils.to_numpy(logits).reshape(chosen.shape[0], -1), axis=-1)[:, -2:]
        self.ties += [(len(self.tokens), user) for user, (second, first) in enumerate(best.tolist()) if first - second < self.error]
        self.tokens.append(utils.to_numpy(chosen).reshape(-1).tolist())


def prompts(args: argparse.Namespace, users: int) -> list[list[int]]:
    """The token ids of --prompt-ids for each user; one prompt is everybody's."""
    try:
        rows = [[int(word) for word in row.replace(",", " ").split()] for row in args.prompt_ids.split(";")]
    except ValueError:
        sys.exit(f"run: --prompt-ids takes whole numbers, got {args.prompt_ids[:80]!r}")
    rows = rows * users if len(rows) == 1 else rows
    if len(rows) != users or not rows[0] or len({len(row) for row in rows}) != 1 or min(map(min, rows)) < 0:
        sys.exit(f"run: --prompt-ids takes one prompt, or {users} of one length, with ids from 0")
    return rows


def check_fits(args: argparse.Namespace, rows: list[list[int]]) -> None:
    """Ends the program where prompt and answer do not fit into the caches, or ids into the vocabulary."""
    step, prompt = MANIFEST["generation"]["step"], MANIFEST["generation"]["prompt"]
    count, vocabulary = len(rows[0]), MANIFEST["outputs"][step["logits"]]["shape"][-1]
    encoded = prompt is not None and not prompt["logits"]
    if encoded and count != (wanted := MANIFEST["tensors"][prompt["tokens"]]["shape"][1]):
        sys.exit(f"run: --prompt-ids takes {wanted} ids, got {count}: the encoder was exported for a text of that length")
    if (0 if encoded else count) + args.generate > step["length"] or max(map(max, rows)) >= vocabulary:
        sys.exit(f"run: the caches hold {step['length']} positions and ids are below {vocabulary}: {count} and {args.generate} tokens do not fit")


def run(args: argparse.Namespace, functions: dict[str, Callable], weights: Weights, device: ttnn.MeshDevice) -> int:
    """Greedy decoding: the prompt as a whole where an entry point takes it, then token by token. Each token is chosen on the device.

    functions: entry points by name, called with tensors on the device in the order of their inputs.
    """
    step, prompt = MANIFEST["generation"]["step"], MANIFEST["generation"]["prompt"]
    ids = MANIFEST["tensors"][step["tokens"]]
    rows = prompts(args, ids["shape"][0])
    check_fits(args, rows)
    calls, text = Calls(functions, weights, device), Text(MANIFEST["outputs"][step["logits"]])
    fed: dict[str, ttnn.Tensor] = {}
    chosen, position, prompt_ns = None, 0, 0
    if prompt is not None and (len(rows[0]) > 1 or step["fed"]):
        room = MANIFEST["tensors"][prompt["tokens"]]["shape"][1]
        filled = [(row + [0] * room)[:room] for row in rows]  # what is behind the prompt is written over by the steps, and masked until then
        last = min(len(rows[0]), room) - 1
        found, chosen = calls(prompt["entry"], {prompt["tokens"]: calls.tensor(prompt["tokens"], filled)}, prompt["logits"], last)
        prompt_ns = calls.device_ns
        fed = {name: found[maker] for name, maker in step["fed"]}
        if chosen is None:  # an encoder: the answer begins with the token of the exported step
            rows = utils.to_numpy(utils.load(step["tokens"], device)).tolist()
        else:
            position = last + 1
            if position == len(rows[0]):
                text.add(chosen, found[prompt["logits"]])
    first = position
    while len(text.tokens) < args.generate:
        if position < len(rows[0]):
            tokens = calls.tensor(step["tokens"], [row[position] for row in rows])
        else:
            tokens = ttnn.to_layout(ttnn.reshape(chosen, ids["shape"]), getattr(ttnn, ids["layout"]))
        inputs = {step["tokens"]: tokens, step["position"]: calls.tensor(step["position"], position), **fed}
        found, chosen = calls(step["entry"], inputs, step["logits"])
        position += 1
        if position >= len(rows[0]):
            text.add(chosen, found[step["logits"]])
    return report(args, text, prompt_ns, calls.device_ns, position - first)


def report(args: argparse.Namespace, text: Text, prompt_ns: int, device_ns: int, steps: int) -> int:
    texts = [list(row) for row in zip(*text.tokens, strict=True)]
    for user, row in enumerate(texts):
        print(f"user {user}: {' '.join(map(str, row))}" if len(texts) > 1 else " ".join(map(str, row)))
    for token, user in text.ties:
        print(f"token {token} of user {user}: the two best logits differ by less than the numeric error, {text.error:.3g}")
    parts = [f"prompt {prompt_ns / 1e6:.3f} ms"] if prompt_ns else []
    parts += [f"{steps} steps of {(device_ns - prompt_ns) / 1e6 / steps:.3f} ms"] if steps else []
    print(f"{MANIFEST['model']}: {len(texts[0])} tokens, device {device_ns / 1e6:.3f} ms" + (f" ({', '.join(parts)})" if SIMULATOR else ""))
    if args.json is not None:
        result = {"generated": texts, "ties": text.ties, "device_ns": device_ns, "prompt_device_ns": prompt_ns, "steps": steps}
        with utils.written(args.json):
            args.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0

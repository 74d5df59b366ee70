"""Runs one model in this process, on the simulator or on the real package: started by `tools.experts.run`, with a JSON request as its argument.

    python driver.py '{"tree": ..., "model": ..., "card": ..., "wheel": false, "values": false, "records": FILE, "expected": FILE or null}'

The last line of output is a JSON object: {"error", "refused", "time"}.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def failure(error: BaseException, tree: str) -> dict[str, Any]:
    if os.environ.get("EXPERTS_TRACEBACK"):
        traceback.print_exception(error)
    frames = [f"{frame.filename.removeprefix(tree + '/')}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return {"error": f"{type(error).__name__}: {str(error)[:1500]}", "frames": frames[-6:]}


def main() -> None:
    request = json.loads(sys.argv[1])
    tree = str(Path(request["tree"]).resolve())
    sys.path[:0] = [request["packages"], tree, str(HERE)]
    for folder in ("models", "tests", "ttnn/tt_lib"):  # the tree's folders, not this project's packages of the same names
        module = sys.modules[Path(folder).name] = types.ModuleType(Path(folder).name)
        module.__path__ = [str(Path(tree) / folder)]
    os.environ.setdefault("WH_ARCH_YAML", "wormhole_b0_80_arch_eth_dispatch.yaml")  # what the tree's own scripts set; nothing here reads it
    if not request["wheel"]:
        import ttnn_shim
        from ttnn_shim import session

        session.settings.card, session.settings.estimate = request["card"], not request["values"]
        session.settings.profile_dir = Path()  # programs are kept one by one
        ttnn_shim.activate(explicit=True)

    import stand_ins

    stand_ins.install(tree, request["packages"])
    import entries
    import torch
    import ttnn
    from recorder import Recorder

    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    expected = None
    if request["expected"]:
        expected = [json.loads(line) for line in Path(request["expected"]).read_text().splitlines()]
    answer: dict[str, Any] = {"error": "", "refused": 0, "time": None}
    entry = entries.MODELS[request["model"]]
    with open(request["records"], "w", encoding="utf-8") as records:
        recorder = Recorder(ttnn, Path(tree), records, expected)
        stand_ins.no_drawing()
        recorder.install()
        if not request["values"]:
            stand_ins.ignore_values()
        try:
            settings = entries.device_parameters(entry)
        except BaseException as error:  # noqa: BLE001  a module of the tree that cannot be imported
            print(json.dumps(answer | failure(error, tree)), flush=True)
            os._exit(0)
        device = recorder.device = ttnn.open_device(device_id=0, **settings)
        device.enable_program_cache()

        def start() -> None:
            records.write('{"mark": "start"}\n')
            if not request["wheel"]:
                device.clock_reset()

        def stop() -> None:
            records.write('{"mark": "stop"}\n')
            if not request["wheel"]:
                events = device.events()
                answer["time"] = device.clock_read() | {"kernel_ns": sum(event["ns"] for event in events)}
                answer["events"] = [[event["name"], event["ns"], event["modelled"]] for event in events]

        try:
            entries.start(entry, entries.Run(device, request["card"], start, stop))
        except BaseException as error:  # noqa: BLE001  a model may raise anything
            answer |= failure(error, tree)
        answer["refused"] = recorder.refused
    print(json.dumps(answer, default=str), flush=True)
    os._exit(0)  # the mock device has no queues to drain


if __name__ == "__main__":
    main()

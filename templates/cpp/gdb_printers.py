"""gdb shows tensors by shape, type, place and values:    gdb -x gdb_printers.py --args build/debug/main --loops 1

Needs a build with debug information: cmake -S . -B build/debug -DCMAKE_BUILD_TYPE=Debug (as ./run does), and a running process.
"""

import gdb
import gdb.printing


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        address = self.value.address
        if address is None:
            return "ttnn::Tensor (not in memory)"
        try:
            shown = gdb.parse_and_eval(f"((const char* (*)(const void*)) describe_tensor)((const void*) {int(address)})")
            return shown.string(errors="replace")
        except gdb.error as error:  # optimised out, or the process does not run
            return f"ttnn::Tensor ({error})"


printers = gdb.printing.RegexpCollectionPrettyPrinter("ttnn")
printers.add_printer("Tensor", "^ttnn::Tensor$", TensorPrinter)
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)

#loc = loc("X":0:0)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#sys = #ttcore.system_desc<[{role = host, target_triple = "x86_64-pc-linux-gnu"}], [{arch = <wormhole_b0>, grid = 8x8}], [0], [<pcie|host_mmio>], [ 0x0x0x0]>
module @m attributes {ttcore.system_desc = #sys} {
  ttcore.device_module {
    builtin.module attributes {x, y = [1 : i32, true, "a\22b"]} {
      ttcore.device @default_device = <workerGrid = #ttcore.grid<8x8, virt_to_physical_map = (d0, d1) -> (0, d0, d1), physical_to_virt_map = (d0, d1) -> (0, d0, d1)>, meshShape = , chipIds = [0]>
      func.func private @ce(%arg0: tensor<64x128xbf16, #ttnn_layout>) -> tensor<64x128xbf16, #ttnn_layout> attributes {const_eval} {
        return %arg0 : tensor<64x128xbf16, #ttnn_layout>
      }
      func.func @forward(%arg0: tensor<64x128xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<input>} loc("p0"), %arg1: tensor<64x128xbf16, #ttnn_layout>) -> tensor<64x128xbf16, #ttnn_layout> {
        %0 = ttcore.load_cached(@ce, [%arg1]) : (tensor<64x128xbf16, #ttnn_layout>) -> tensor<64x128xbf16, #ttnn_layout>
        %1 = "ttnn.get_device"() <{mesh_offset = #ttnn<mesh_offset 0x0>, mesh_shape = #ttnn<mesh_shape 1x1>}> : () -> !ttnn.device
        %2 = "ttnn.add"(%arg0, %0) : (tensor<64x128xbf16, #ttnn_layout>, tensor<64x128xbf16, #ttnn_layout>) -> tensor<64x128xbf16, #ttnn_layout> loc(#loc3)
        %3 = "ttnn.softmax"(%2) <{dimension = 1 : si32, numericStable = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4, fp32_dest_acc_en = true>}> : (tensor<64x128xbf16, #ttnn_layout>) -> tensor<64x128xbf16, #ttnn_layout> loc(fused<"x">["a", "b":1:2, unknown])
        "ttnn.deallocate"(%2) <{force = false}> : (tensor<64x128xbf16, #ttnn_layout>) -> ()
        %4 = "ttnn.to_memory_config"(%3) <{memory_config = #ttnn.memory_config<#dram, <interleaved>>}> : (tensor<64x128xbf16, #ttnn_layout>) -> tensor<64x128xbf16, #ttnn_layout>
        return %4 : tensor<64x128xbf16, #ttnn_layout>
      }
    }
  }
}
#loc1 = loc("a.py":3:4)
#loc3 = loc(callsite("f"(#loc1) at #loc))

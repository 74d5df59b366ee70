#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<48x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<() -> (0, 0), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<16x27xf32, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<144x3xf32, #dram>, <interleaved>>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<144x3xf32, #system_memory>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x16xf32, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x16xf32, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x16xf32, #system_memory>>
#ttnn_layout11 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 48 + d1 * 3 + d2, d3), <1x1>, memref<1536x3xf32, #dram>, <interleaved>>
#ttnn_layout12 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 160 + d1 * 160 + d2, d3), <1x1>, memref<5x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout13 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 48 + d1 * 3 + d2, d3), <1x1>, memref<1536x3xf32, #system_memory>>
#ttnn_layout14 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x32xf32, #dram>, <interleaved>>
#ttnn_layout15 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x32xf32, #dram>, <interleaved>>
#ttnn_layout16 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x32xf32, #system_memory>>
#ttnn_layout17 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x64x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout18 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout19 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<96x32xf32, #dram>, <interleaved>>
#ttnn_layout20 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 32 + d2, d3), <1x1>, memref<1024x3xf32, #dram>, <interleaved>>
#ttnn_layout21 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 1024 + d2, d3), <1x1>, memref<1024x3xf32, #dram>, <interleaved>>
#ttnn_layout22 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 1024 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout23 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 1024 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout24 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 256 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout25 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 256 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout26 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout27 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout28 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 32 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
module {
  func.func private @const_eval_0(%arg0: tensor<16x3x3x3xf32, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c1.weight"} loc(#loc), %arg1: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.weight"} loc(#loc), %arg2: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.running_var"} loc(#loc)) -> tensor<1x1x27x16xf32, #ttnn_layout2> attributes {const_eval} {
    %0 = "ttnn.reshape"(%arg0) <{shape = [16 : i32, 27 : i32]}> : (tensor<16x3x3x3xf32, #ttnn_layout>) -> tensor<16x27xf32, #ttnn_layout3> loc(#loc)
    %1 = "ttnn.full"() <{shape = #ttnn.shape<>, fill_value = 1.0e-05 : f32}> {alchemist.inline} : () -> tensor<f32, #ttnn_layout4> loc(#loc)
    %2 = "ttnn.add"(%arg2, %1) : (tensor<16xf32, #ttnn_layout1>, tensor<f32, #ttnn_layout4>) -> tensor<16xf32, #ttnn_layout1> loc(#loc)
    %3 = "ttnn.rsqrt"(%2) : (tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout1> loc(#loc)
    %4 = "ttnn.multiply"(%arg1, %3) : (tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout1> loc(#loc1)
    %5 = "ttnn.reshape"(%4) <{shape = [16 : i32, 1 : i32]}> : (tensor<16xf32, #ttnn_layout1>) -> tensor<16x1xf32, #ttnn_layout3> loc(#loc)
    %6 = "ttnn.multiply"(%0, %5) : (tensor<16x27xf32, #ttnn_layout3>, tensor<16x1xf32, #ttnn_layout3>) -> tensor<16x27xf32, #ttnn_layout3> loc(#loc1)
    %7 = "ttnn.to_layout"(%6) : (tensor<16x27xf32, #ttnn_layout3>) -> tensor<16x27xf32, #ttnn_layout5> loc(#loc1)
    %8 = "ttnn.reshape"(%7) <{shape = [16 : i32, 3 : i32, 3 : i32, 3 : i32]}> : (tensor<16x27xf32, #ttnn_layout5>) -> tensor<16x3x3x3xf32, #ttnn_layout6> loc(#loc1)
    %9 = "ttnn.from_device"(%8) : (tensor<16x3x3x3xf32, #ttnn_layout6>) -> tensor<16x3x3x3xf32, #ttnn_layout7> loc(#loc2)
    %10 = "ttnn.get_device"() : () -> !ttnn.device loc(#loc)
    %11 = "ttnn.prepare_conv2d_weights"(%9, %10) <{input_memory_config = #ttnn.memory_config<#dram, <interleaved>>, input_tensor_layout = #ttnn.layout<row_major>, input_dtype = #ttcore.supportedDataTypes<f32>, conv2d_config = #ttnn.conv2d_config<weights_dtype = f32, activation = #ttnn.unary_with_param<op_type = relu>>, in_channels = 3 : i32, out_channels = 16 : i32, batch_size = 1 : i32, input_height = 32 : i32, input_width = 32 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, weights_format = "OIHW", has_bias = true}> : (tensor<16x3x3x3xf32, #ttnn_layout7>, !ttnn.device) -> tensor<1x1x27x16xf32, #ttnn_layout2> loc(#loc2)
    return %11 : tensor<1x1x27x16xf32, #ttnn_layout2> loc(#loc)
  } loc(#loc)
  func.func private @const_eval_1(%arg0: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.bias"} loc(#loc), %arg1: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.running_mean"} loc(#loc), %arg2: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c1.bias"} loc(#loc), %arg3: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.weight"} loc(#loc), %arg4: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.running_var"} loc(#loc)) -> tensor<1x1x1x16xf32, #ttnn_layout2> attributes {const_eval} {
    %0 = "ttnn.subtract"(%arg1, %arg2) : (tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout1> loc(#loc)
    %1 = "ttnn.full"() <{shape = #ttnn.shape<>, fill_value = 1.0e-05 : f32}> {alchemist.inline} : () -> tensor<f32, #ttnn_layout4> loc(#loc)
    %2 = "ttnn.add"(%arg4, %1) : (tensor<16xf32, #ttnn_layout1>, tensor<f32, #ttnn_layout4>) -> tensor<16xf32, #ttnn_layout1> loc(#loc)
    %3 = "ttnn.rsqrt"(%2) : (tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout1> loc(#loc)
    %4 = "ttnn.multiply"(%arg3, %3) : (tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout1> loc(#loc1)
    %5 = "ttnn.multiply"(%0, %4) : (tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout1> loc(#loc)
    %6 = "ttnn.subtract"(%arg0, %5) : (tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout1> loc(#loc1)
    %7 = "ttnn.to_layout"(%6) : (tensor<16xf32, #ttnn_layout1>) -> tensor<16xf32, #ttnn_layout8> loc(#loc2)
    %8 = "ttnn.reshape"(%7) <{shape = [1 : i32, 1 : i32, 1 : i32, 16 : i32]}> : (tensor<16xf32, #ttnn_layout8>) -> tensor<1x1x1x16xf32, #ttnn_layout9> loc(#loc2)
    %9 = "ttnn.from_device"(%8) : (tensor<1x1x1x16xf32, #ttnn_layout9>) -> tensor<1x1x1x16xf32, #ttnn_layout10> loc(#loc2)
    %10 = "ttnn.get_device"() : () -> !ttnn.device loc(#loc)
    %11 = "ttnn.prepare_conv2d_bias"(%9, %10) <{input_memory_config = #ttnn.memory_config<#dram, <interleaved>>, input_tensor_layout = #ttnn.layout<row_major>, input_dtype = #ttcore.supportedDataTypes<f32>, conv2d_config = #ttnn.conv2d_config<weights_dtype = f32, activation = #ttnn.unary_with_param<op_type = relu>>, in_channels = 3 : i32, out_channels = 16 : i32, batch_size = 1 : i32, input_height = 32 : i32, input_width = 32 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32}> : (tensor<1x1x1x16xf32, #ttnn_layout10>, !ttnn.device) -> tensor<1x1x1x16xf32, #ttnn_layout2> loc(#loc2)
    return %11 : tensor<1x1x1x16xf32, #ttnn_layout2> loc(#loc)
  } loc(#loc)
  func.func private @const_eval_2(%arg0: tensor<32x16x3x3xf32, #ttnn_layout11> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c2.weight"} loc(#loc)) -> tensor<1x1x144x32xf32, #ttnn_layout12> attributes {const_eval} {
    %0 = "ttnn.from_device"(%arg0) : (tensor<32x16x3x3xf32, #ttnn_layout11>) -> tensor<32x16x3x3xf32, #ttnn_layout13> loc(#loc3)
    %1 = "ttnn.get_device"() : () -> !ttnn.device loc(#loc)
    %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{input_memory_config = #ttnn.memory_config<#dram, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<f32>, conv2d_config = #ttnn.conv2d_config<weights_dtype = f32, activation = #ttnn.unary_with_param<op_type = relu>>, in_channels = 16 : i32, out_channels = 32 : i32, batch_size = 1 : i32, input_height = 16 : i32, input_width = 16 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, weights_format = "OIHW", has_bias = true}> : (tensor<32x16x3x3xf32, #ttnn_layout13>, !ttnn.device) -> tensor<1x1x144x32xf32, #ttnn_layout12> loc(#loc3)
    return %2 : tensor<1x1x144x32xf32, #ttnn_layout12> loc(#loc)
  } loc(#loc)
  func.func private @const_eval_3(%arg0: tensor<32xf32, #ttnn_layout14> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c2.bias"} loc(#loc)) -> tensor<1x1x1x32xf32, #ttnn_layout2> attributes {const_eval} {
    %0 = "ttnn.reshape"(%arg0) <{shape = [1 : i32, 1 : i32, 1 : i32, 32 : i32]}> : (tensor<32xf32, #ttnn_layout14>) -> tensor<1x1x1x32xf32, #ttnn_layout15> loc(#loc3)
    %1 = "ttnn.from_device"(%0) : (tensor<1x1x1x32xf32, #ttnn_layout15>) -> tensor<1x1x1x32xf32, #ttnn_layout16> loc(#loc3)
    %2 = "ttnn.get_device"() : () -> !ttnn.device loc(#loc)
    %3 = "ttnn.prepare_conv2d_bias"(%1, %2) <{input_memory_config = #ttnn.memory_config<#dram, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<f32>, conv2d_config = #ttnn.conv2d_config<weights_dtype = f32, activation = #ttnn.unary_with_param<op_type = relu>>, in_channels = 16 : i32, out_channels = 32 : i32, batch_size = 1 : i32, input_height = 16 : i32, input_width = 16 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32}> : (tensor<1x1x1x32xf32, #ttnn_layout16>, !ttnn.device) -> tensor<1x1x1x32xf32, #ttnn_layout2> loc(#loc3)
    return %3 : tensor<1x1x1x32xf32, #ttnn_layout2> loc(#loc)
  } loc(#loc)
  func.func private @const_eval_4(%arg0: tensor<10x2048xf32, #ttnn_layout17> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "fc.weight"} loc(#loc)) -> tensor<2048x10xf32, #ttnn_layout18> attributes {const_eval} {
    %0 = "ttnn.transpose"(%arg0) <{dim0 = 0 : si32, dim1 = 1 : si32}> : (tensor<10x2048xf32, #ttnn_layout17>) -> tensor<2048x10xf32, #ttnn_layout18> loc(#loc4)
    return %0 : tensor<2048x10xf32, #ttnn_layout18> loc(#loc)
  } loc(#loc)
  func.func @forward(%arg0: tensor<1x3x32x32xf32, #ttnn_layout19> {ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"} loc(#loc), %arg1: tensor<16x3x3x3xf32, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c1.weight"} loc(#loc), %arg2: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c1.bias"} loc(#loc), %arg3: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.weight"} loc(#loc), %arg4: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.bias"} loc(#loc), %arg5: tensor<32x16x3x3xf32, #ttnn_layout11> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c2.weight"} loc(#loc), %arg6: tensor<32xf32, #ttnn_layout14> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "c2.bias"} loc(#loc), %arg7: tensor<10x2048xf32, #ttnn_layout17> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "fc.weight"} loc(#loc), %arg8: tensor<10xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "fc.bias"} loc(#loc), %arg9: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.running_mean"} loc(#loc), %arg10: tensor<16xf32, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "bn.running_var"} loc(#loc)) -> (tensor<1x10xf32, #ttnn_layout3> {ttir.name = "output"}) {
    %0 = "ttnn.get_device"() : () -> !ttnn.device loc(#loc)
    %1 = "ttnn.permute"(%arg0) <{permutation = array<i64: 0, 2, 3, 1>}> : (tensor<1x3x32x32xf32, #ttnn_layout19>) -> tensor<1x32x32x3xf32, #ttnn_layout20> loc(#loc2)
    %2 = "ttnn.reshape"(%1) <{shape = [1 : i32, 1 : i32, 1024 : i32, 3 : i32]}> : (tensor<1x32x32x3xf32, #ttnn_layout20>) -> tensor<1x1x1024x3xf32, #ttnn_layout21> loc(#loc2)
    %3 = ttcore.load_cached(@const_eval_0, [%arg1, %arg3, %arg10]) : (tensor<16x3x3x3xf32, #ttnn_layout>, tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>) -> tensor<1x1x27x16xf32, #ttnn_layout2> loc(#loc2)
    %4 = ttcore.load_cached(@const_eval_1, [%arg4, %arg9, %arg2, %arg3, %arg10]) : (tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>, tensor<16xf32, #ttnn_layout1>) -> tensor<1x1x1x16xf32, #ttnn_layout2> loc(#loc2)
    %5 = "ttnn.conv2d"(%2, %3, %4, %0) <{in_channels = 3 : i32, out_channels = 16 : i32, batch_size = 1 : i32, input_height = 32 : i32, input_width = 32 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = f32, activation = #ttnn.unary_with_param<op_type = relu>>}> : (tensor<1x1x1024x3xf32, #ttnn_layout21>, tensor<1x1x27x16xf32, #ttnn_layout2>, tensor<1x1x1x16xf32, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x1024x16xf32, #ttnn_layout22> loc(#loc2)
    %6 = "ttnn.typecast"(%5) {alchemist.note = "ttnn.max_pool2d takes bfloat16 only"} : (tensor<1x1x1024x16xf32, #ttnn_layout22>) -> tensor<1x1x1024x16xbf16, #ttnn_layout23> loc(#loc5)
    %7 = "ttnn.max_pool2d"(%6) <{batch_size = 1 : si32, input_height = 32 : si32, input_width = 32 : si32, channels = 16 : si32, kernel_size = array<i32: 2, 2>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x1024x16xbf16, #ttnn_layout23>) -> tensor<1x1x256x16xbf16, #ttnn_layout24> loc(#loc5)
    "ttnn.deallocate"(%5) <{force = false}> : (tensor<1x1x1024x16xf32, #ttnn_layout22>) -> () loc(#loc)
    %8 = "ttnn.typecast"(%7) : (tensor<1x1x256x16xbf16, #ttnn_layout24>) -> tensor<1x1x256x16xf32, #ttnn_layout25> loc(#loc5)
    %9 = ttcore.load_cached(@const_eval_2, [%arg5]) : (tensor<32x16x3x3xf32, #ttnn_layout11>) -> tensor<1x1x144x32xf32, #ttnn_layout12> loc(#loc3)
    %10 = ttcore.load_cached(@const_eval_3, [%arg6]) : (tensor<32xf32, #ttnn_layout14>) -> tensor<1x1x1x32xf32, #ttnn_layout2> loc(#loc3)
    %11 = "ttnn.conv2d"(%8, %9, %10, %0) <{in_channels = 16 : i32, out_channels = 32 : i32, batch_size = 1 : i32, input_height = 16 : i32, input_width = 16 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = f32, activation = #ttnn.unary_with_param<op_type = relu>>}> : (tensor<1x1x256x16xf32, #ttnn_layout25>, tensor<1x1x144x32xf32, #ttnn_layout12>, tensor<1x1x1x32xf32, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x64x32xf32, #ttnn_layout26> loc(#loc3)
    "ttnn.deallocate"(%7) <{force = false}> : (tensor<1x1x256x16xbf16, #ttnn_layout24>) -> () loc(#loc)
    %12 = "ttnn.reshape"(%11) <{shape = [1 : i32, 8 : i32, 8 : i32, 32 : i32]}> : (tensor<1x1x64x32xf32, #ttnn_layout26>) -> tensor<1x8x8x32xf32, #ttnn_layout27> loc(#loc6)
    %13 = "ttnn.permute"(%12) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<1x8x8x32xf32, #ttnn_layout27>) -> tensor<1x32x8x8xf32, #ttnn_layout28> loc(#loc6)
    %14 = "ttnn.reshape"(%13) <{shape = [1 : i32, 2048 : i32]}> : (tensor<1x32x8x8xf32, #ttnn_layout28>) -> tensor<1x2048xf32, #ttnn_layout17> loc(#loc6)
    %15 = ttcore.load_cached(@const_eval_4, [%arg7]) : (tensor<10x2048xf32, #ttnn_layout17>) -> tensor<2048x10xf32, #ttnn_layout18> loc(#loc4)
    %16 = "ttnn.linear"(%14, %15, %arg8) <{transpose_a = false, transpose_b = false}> : (tensor<1x2048xf32, #ttnn_layout17>, tensor<2048x10xf32, #ttnn_layout18>, tensor<10xf32, #ttnn_layout1>) -> tensor<1x10xf32, #ttnn_layout3> loc(#loc4)
    "ttnn.deallocate"(%11) <{force = false}> : (tensor<1x1x64x32xf32, #ttnn_layout26>) -> () loc(#loc)
    return %16 : tensor<1x10xf32, #ttnn_layout3> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("batch_norm|__main__.CNN[]|torch.nn.modules.batchnorm.BatchNorm2d[bn]|exp.py:9|forward|9|aten.batch_norm.default")
#loc2 = loc(fused["conv2d|__main__.CNN[]|torch.nn.modules.conv.Conv2d[c1]|exp.py:9|forward|9|aten.conv2d.default", "batch_norm|__main__.CNN[]|torch.nn.modules.batchnorm.BatchNorm2d[bn]|exp.py:9|forward|9|aten.batch_norm.default", "relu|__main__.CNN[]|exp.py:9|forward|9|aten.relu.default"])
#loc3 = loc(fused["conv2d_1|__main__.CNN[]|torch.nn.modules.conv.Conv2d[c2]|exp.py:9|forward|9|aten.conv2d.default", "relu_1|__main__.CNN[]|exp.py:9|forward|9|aten.relu.default"])
#loc4 = loc("linear|__main__.CNN[]|torch.nn.modules.linear.Linear[fc]|exp.py:10|forward|10|aten.linear.default")
#loc5 = loc("|__main__.CNN[]|exp.py:9|forward|9|aten.max_pool2d.default")
#loc6 = loc("flatten|__main__.CNN[]|exp.py:10|forward|10|aten.flatten.using_ints")

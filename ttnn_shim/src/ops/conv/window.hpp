// Geometry, sharding and device programs of sliding-window ops (convolution and pooling).
#pragma once

#include "ops/data_movement/common.hpp"
#include "ttnn/operations/conv/conv_types.hpp"

namespace ttnn_shim {

struct Window {
  int64_t batch = 1, height = 1, width = 1, channels = 1;
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int64_t, 4> padding{0, 0, 0, 0};  ///< top, bottom, left, right
  bool ceil_mode = false;
  int64_t out_height = 0, out_width = 0;

  /// Fills in the output size; throws when the window does not fit.
  void resolve();
  int64_t out_pixels() const { return batch * out_height * out_width; }
  int64_t in_pixels() const { return batch * height * width; }
};

std::array<int64_t, 4> four_paddings(const ttnn::operations::conv::Padding& padding);
/// [1, 1, N*H*W, C] or [N, H, W, C]; throws with both shapes.
void check_pixels(const Tensor& input, const Window& window);

/// Work over cores: `rows` of output pixels x `columns` of channels.
struct Split {
  TensorMemoryLayout layout = TensorMemoryLayout::HEIGHT_SHARDED;
  CoreRangeSet grid;
  int64_t cores_nhw = 1, cores_c = 1;
};

/// Largest count of at most `most` parts of `units` that leaves none empty.
int64_t parts_without_empty(int64_t units, int64_t most);
/// `count` cores in rows of a grid that is `width` wide.
CoreRangeSet cores_in_rows(int64_t count, int64_t width);
/// Shards for `pixels` rows of `channels`; tile-sized rows on request.
ShardSpec shards_of(const Split& split, int64_t pixels, int64_t channels, bool tiled, int64_t channel_step);

/// The input in L1 shards (interleaved inputs cost a program) and the halo program on it. The result carries no values: the kernel reads the input.
Tensor gather_windows(const Tensor& input, const Window& window, const Split& split, bool output_tiled, bool sliced, bool config_in_dram);

std::array<uint32_t, 2> pair_of(const Call& c, const char* name, std::array<uint32_t, 2> otherwise);
ttnn::operations::conv::Padding padding_of(const Call& c, const char* name);

}  // namespace ttnn_shim

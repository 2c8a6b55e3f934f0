/* What the experiment computes of a scene: 400 numbers, a vector, the penalties of all captions. */
const lnCaptionRankingEngine = (() => {
  "use strict";
  const FEATURES_PER_CATEGORY = 5; // numbers that a category has, as lnlab.datasets.coco_val2017_layout.features says

  function features({ w, h, boxes }, categories) {
    const result = new Float32Array(categories * FEATURES_PER_CATEGORY),
      largest = new Float64Array(categories);
    for (const [c, x1, y1, x2, y2] of boxes) {
      const area = ((x2 - x1) * (y2 - y1)) / (w * h), offset = c * FEATURES_PER_CATEGORY;
      result[offset] = 1;
      result[offset + 1] += 1;
      if (area >= largest[c]) {
        largest[c] = area;
        result.set([Math.sqrt(area), (x1 + x2) / 2 / w, (y1 + y2) / 2 / h], offset + 2);
      }
    }
    for (let offset = 1; offset < result.length; offset += FEATURES_PER_CATEGORY)
      result[offset] = Math.log1p(result[offset]);
    return result;
  }

  function bytes(text) {
    const raw = atob(text), content = new Uint8Array(raw.length);
    for (let k = 0; k < raw.length; k++) content[k] = raw.charCodeAt(k);
    return content.buffer;
  }
  /* Rows of levels, each with a scale of its own. */
  function rows(levels, scales) {
    const factor = new Float32Array(bytes(scales)), width = levels.length / factor.length;
    return Float64Array.from(levels, (level, k) => level * factor[Math.floor(k / width)]);
  }

  /* A recorded network: the vectors of captions, and the map that gives a scene its vector. */
  class Network {
    constructor({ captions, caption_scales, image, image_scales }) {
      this.captions = rows(new Uint8Array(bytes(captions)), caption_scales);
      this.map = rows(new Int8Array(bytes(image)), image_scales);
      this.count = bytes(caption_scales).byteLength / 4;
      this.size = this.captions.length / this.count;
    }
    vector(x) {
      const embedding = new Float64Array(this.size), width = x.length + 1; // the bias comes last
      let square = 0;
      for (let k = 0; k < this.size; k++) {
        let sum = this.map[k * width + x.length];
        for (let i = 0; i < x.length; i++) if (x[i]) sum += this.map[k * width + i] * x[i];
        embedding[k] = Math.abs(sum);
        square += sum * sum;
      }
      const length = Math.max(Math.sqrt(square), 1e-12);
      return embedding.map((v) => v / length);
    }
    /* By how much each caption lies above the scene: the sum of the squares of what sticks out. */
    penalties(x) {
      const scene = this.vector(x), sums = new Float64Array(this.count);
      for (let c = 0; c < this.count; c++) {
        for (let k = 0; k < this.size; k++) {
          const above = this.captions[c * this.size + k] - scene[k];
          if (above > 0) sums[c] += above * above;
        }
      }
      return sums;
    }
  }

  /* Captions, the least penalized first. */
  const order = (penalties) => Array.from(penalties.keys())
    .sort((a, b) => penalties[a] - penalties[b]);
  /* At which place, from 1, one comes: of a tie, the last. */
  const rankOf = (penalties, which) => penalties.filter((p) => p <= penalties[which]).length;

  return { features, Network, order, rankOf };
})();

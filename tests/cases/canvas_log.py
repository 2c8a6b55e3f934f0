"""A page with the scripts of a widget, whose canvases log all drawing calls."""

from contextlib import contextmanager

# Calls since the canvas was cleared: name, style, and arguments; for an image, its opacity, its
# pixels as 24-bit numbers, and its position.
LOG = """(() => {
  const pen = CanvasRenderingContext2D.prototype, styles = {
    fillRect: "fillStyle", strokeRect: "strokeStyle", roundRect: "fillStyle", arc: "fillStyle",
    fillText: "fillStyle", moveTo: "strokeStyle", lineTo: "strokeStyle" };
  for (const [name, style] of Object.entries(styles)) {
    const own = pen[name];
    pen[name] = function (...given) {
      (this.canvas.log ??= []).push([name, this[style], ...given, ...(name === "fillText"
        ? [this.font] : [])]);
      return own.apply(this, given);
    };
  }
  const { clearRect, drawImage } = pen;
  pen.clearRect = function (...given) {
    this.canvas.log = [];
    clearRect.apply(this, given);
  };
  pen.drawImage = function (image, ...given) {
    const { data } = image.getContext("2d").getImageData(0, 0, image.width, image.height);
    const pixels = Array.from({ length: data.length / 4 }, (_, k) =>
      (data[4 * k] << 16) + (data[4 * k + 1] << 8) + data[4 * k + 2]);
    (this.canvas.log ??= []).push(["drawImage", this.globalAlpha, pixels, ...given]);
    drawImage.call(this, image, ...given);
  };
})();"""
START = """async ([name, data, look]) => {
  const root = document.createElement("div");
  for (const [key, color] of Object.entries(look)) root.style.setProperty(`--ln-${key}`, color);
  root.className = name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
  document.body.append(root);
  const of = typeof data === "string" ? data : null;
  window[name](root, async (file) => of ?? data[file]);
  while (!root.dataset.ready) await new Promise((done) => setTimeout(done, 10));
}"""


@contextmanager
def drawn(browser, web, data, **look):
    """A page on which a replay of recorded networks draws, with the given colors."""
    page = browser.new_page(reduced_motion="reduce")
    page.add_script_tag(content=LOG)
    page.add_style_tag(content=web.complete_style())
    page.add_script_tag(content=f"{web.source()}\nwindow.{web.js_name} = {web.js_name};")
    page.evaluate(START, [web.js_name, data, look])
    yield page
    page.close()


def logs(page, selector):
    """The calls of each canvas since it was cleared."""
    return page.locator(selector).evaluate_all("all => all.map((canvas) => canvas.log ?? [])")


def calls(log, name, *styles):
    """The arguments of calls of one name, with one of the styles or with any."""
    return [
        given for kind, style, *given in log if kind == name and (not styles or style in styles)
    ]

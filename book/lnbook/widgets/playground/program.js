/* The PyTorch program that does what one of the networks does. A test runs it, and holds the
   engine to the very network that it makes. */
const lnProgram = (() => {
  "use strict";
  const NORMS = { layer: "LayerNorm(m)", batch: "BatchNorm1d(m)", rms: "RMSNorm(m, eps=1e-5)" };
  const ACTIVATIONS = {
    relu: (x) => `torch.relu(${x})`, tanh: (x) => `torch.tanh(${x})`, identity: (x) => x,
    gelu: (x) => `nn.functional.gelu(${x}, approximate="tanh")`,
  };
  const PLANE = {
    spiral: [
      "s = 0.05 + 0.95 * torch.rand(1200).sqrt()",
      "angle = 2 * torch.pi * y / 3 + 4.5 * s + 0.16 * torch.randn(1200)",
      "x = 1.7 * torch.stack((s * angle.cos(), s * angle.sin()), 1)",
    ],
    rings: [
      "s, angle = 0.35 + 0.6 * y + 0.09 * torch.randn(1200), 2 * torch.pi * torch.rand(1200)",
      "x = torch.stack((s * angle.cos(), s * angle.sin()), 1)",
    ],
    moons: [
      "angle, side = torch.pi * torch.rand(1200), 1 - 2 * y",
      "x = torch.stack((side * (angle.cos() - 0.5), side * (angle.sin() - 0.25)), 1)",
      "x = x + 0.13 * torch.randn(1200, 2)",
    ],
  };

  function data(o) {
    if (o.data === "digits") {
      return [
        "data = load_digits()",
        "order = np.random.default_rng(0).permutation(len(data.target))",
        "x = (torch.tensor(data.data[order]) - 4.884) / 6.017",
        "y, train = torch.tensor(data.target[order]), 1400",
      ];
    }
    return [`y, train = torch.arange(1200) % ${o.data === "moons" ? 2 : 3}, 900`, ...PLANE[o.data]];
  }

  function layer(o) {
    const normed = o.norm !== "none", after = o.place === "after";
    const bias = !normed || after || o.bias;
    const lines = [
      "class Layer(nn.Module):",
      `    def __init__(self, n, m${o.residual ? ", skip" : ""}):`,
      "        super().__init__()",
      `        self.linear = nn.Linear(n, m${bias ? "" : ", bias=False"})`,
      `        bound = ${o.size} * (6 / n) ** 0.5  # factor 1: He initialization`,
      "        nn.init.uniform_(self.linear.weight, -bound, bound)",
    ];
    if (bias) lines.push("        nn.init.zeros_(self.linear.bias)");
    if (o.residual) lines.push("        self.skip = skip");
    if (normed) lines.push(`        self.norm = nn.${NORMS[o.norm]}`);
    const summed = "self.linear(inputs)";
    const x = ACTIVATIONS[o.activation](normed && !after ? `self.norm(${summed})` : summed);
    const last = (v) => `        return ${normed && after ? `self.norm(${v})` : v}`;
    lines.push("    def forward(self, inputs):");
    if (o.residual) {
      lines.push(`        x = ${x}`, last("inputs + x if self.skip else x"));
    } else lines.push(last(x));
    return lines;
  }

  /* settings: those of one network, with data, depth, width, batch and seed */
  function write(o, updates) {
    const [inputs, classes] = o.data === "digits" ? [64, 10] : [2, o.data === "moons" ? 2 : 3];
    const adam = o.optimizer === "adam";
    return [
      ...(o.data === "digits" ? ["import numpy as np"] : []),
      "import torch",
      ...(o.data === "digits" ? ["from sklearn.datasets import load_digits"] : []),
      "from torch import nn",
      "",
      "torch.set_default_dtype(torch.float64)",
      `torch.manual_seed(${o.seed})`,
      ...data(o), "", ...layer(o), "",
      `layers = [Layer(${inputs}, ${o.width}${o.residual ? ", False" : ""}), `
        + `*(Layer(${o.width}, ${o.width}${o.residual ? ", True" : ""}) `
        + `for _ in range(${o.depth - 1}))]`,
      `net = nn.Sequential(*layers, nn.Linear(${o.width}, ${classes}))`,
      "nn.init.zeros_(net[-1].bias)",
      `optimizer = torch.optim.${adam ? "Adam" : "SGD"}(net.parameters(), lr=${o.rate})`,
      `for update in range(${updates}):`,
      `    batch = torch.randperm(train)[:${o.batch}]`,
      "    loss = nn.functional.cross_entropy(net(x[batch]), y[batch])",
      "    optimizer.zero_grad()",
      "    loss.backward()",
      "    optimizer.step()",
      "net.eval()",
      "wrong = net(x[train:]).argmax(1) != y[train:]",
      'print("held-out error", wrong.double().mean().item())',
      "",
    ].join("\n");
  }

  return write;
})();

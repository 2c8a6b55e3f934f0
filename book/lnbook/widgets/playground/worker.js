/* Trains two networks side by side and tells what is to be drawn: one answer for each question, so
   that it never runs ahead of the page. Runs in a Worker; where none starts, in the page itself. */
const lnWorker = (engine, post) => {
  "use strict";
  const PROBE = 64; // held-out examples whose activations are measured
  const MAP = 40, REACH = 2.2; // points a side of the plane's map, and how far it reaches
  const LOST = 1e12; // a loss beyond it
  const WALL = 100; // held-out digits of which the page shows which are read
  let digits = null, run = null;

  const grid = new Float64Array(2 * MAP * MAP);
  for (let i = 0; i < MAP * MAP; i++) {
    grid[2 * i] = REACH * ((2 * ((i % MAP) + 0.5)) / MAP - 1);
    grid[2 * i + 1] = -REACH * ((2 * (Math.floor(i / MAP) + 0.5)) / MAP - 1);
  }

  /* Both arms: settings as engine.js has them, with `batch`; data and seed are the same. */
  function make({ id, arms, data, seed, example }) {
    const set = data === "digits" ? engine.digits(digits) : engine.plane(data);
    const build = (arm) => new engine.Network({
      ...arm, seed, inputs: set.inputs, classes: set.classes, room: 128 });
    const batches = arms.map((arm) => arm.batch);
    run = {
      id, set, batches, example, updates: 0, lost: [0, 0], nets: arms.map(build),
      next: arms.map(() => engine.examples(set.train, set.inputs, seed)),
    };
    // The first gradients, of networks that are then forgotten: nothing is learned yet.
    run.slopes = arms.map((arm, k) => {
      const net = build(arm), B = batches[k];
      const { x, y } = engine.examples(set.train, set.inputs, seed)(B);
      net.forward(x, B, true);
      net.loss(y, B);
      net.backward(x, B);
      return net.slopes();
    });
    answer([[], []], true, true);
  }

  function train(updates, full, budget) {
    const end = performance.now() + (budget ?? 0), losses = [[], []];
    let taken = 0;
    do {
      run.updates++;
      taken++;
      run.nets.forEach((net, k) => {
        const B = run.batches[k];
        if (run.lost[k]) return losses[k].push(NaN);
        const { x, y } = run.next[k](B), loss = net.step(x, y, B);
        losses[k].push(loss);
        if (!(loss < LOST)) run.lost[k] = run.updates;
      });
    } while (taken < updates && performance.now() < end);
    run.slopes = run.nets.map((net) => net.slopes());
    answer(losses, full, false);
  }

  function inspect(net, slopes, full) {
    const { set, example } = run, { inputs, classes, depth, width } = net, { x, y } = set.test;
    const result = { slopes };
    if (full) result.error = net.test(set.test).error;
    if (full && inputs !== 2) {
      const h = net.forward(x.subarray(0, WALL * inputs), WALL, false);
      result.read = Array.from({ length: WALL }, (_, e) => largest(h, e * classes, classes) === y[e]);
    }
    if (full && inputs === 2) {
      result.map = new Int8Array(MAP * MAP);
      for (let i = 0; i < MAP * MAP; i += net.room) {
        const B = Math.min(net.room, MAP * MAP - i);
        const h = net.forward(grid.subarray(2 * i, 2 * (i + B)), B, false);
        for (let e = 0; e < B; e++) result.map[i + e] = largest(h, e * classes, classes);
      }
    }
    const first = Math.min(example, y.length - PROBE), row = example - first;
    net.forward(x.subarray(first * inputs, (first + PROBE) * inputs), PROBE, false);
    result.activity = net.activity(PROBE);
    result.heat = new Float32Array(depth * width);
    for (let l = 0; l < depth; l++) {
      result.heat.set(net.layers[l].h.subarray(row * width, (row + 1) * width), l * width);
    }
    const logits = net.layers[depth].h.slice(row * classes, (row + 1) * classes);
    const top = Math.max(...logits), e = Array.from(logits, (v) => Math.exp(v - top));
    const sum = e.reduce((p, q) => p + q);
    result.chances = e.map((v) => v / sum);
    return result;
  }

  function largest(h, from, count) {
    let top = 0;
    for (let c = 1; c < count; c++) if (h[from + c] > h[from + top]) top = c;
    return h[from] === h[from] ? top : -1;
  }

  function answer(losses, full, start) {
    const { set, example, nets, lost } = run, { inputs } = set, { x, y } = set.test;
    post({
      id: run.id, updates: run.updates, losses, lost: [...lost], full,
      nets: nets.map((net, k) => inspect(net, run.slopes[k], full)),
      input: Array.from(x.subarray(example * inputs, (example + 1) * inputs)), label: y[example],
      // The held-out points, once.
      points: start && inputs === 2 ? { x: Array.from(x), y: Array.from(y) } : null,
      wall: start && inputs !== 2 ? Array.from(x.subarray(0, WALL * inputs)) : null,
    });
  }

  /* The held-out example of which the second network is least sure. */
  function hardest() {
    const net = run.nets[1], { x, y } = run.set.test, { inputs } = net;
    let worst = -1, index = 0;
    for (let i = 0; i < y.length; i++) {
      net.forward(x.subarray(i * inputs, (i + 1) * inputs), 1, false);
      const loss = net.loss(y.subarray(i, i + 1), 1);
      if (loss > worst) [worst, index] = [loss, i];
    }
    return index;
  }

  return (message) => {
    if (message.digits) digits = message.digits;
    if (message.make) make(message.make);
    else if (message.train) train(message.train, message.full, message.budget);
    else if (message.measure) answer([[], []], true, false);
    else if ("example" in message) {
      const count = run.set.test.y.length;
      run.example = message.example === "hardest" ? hardest() : (message.example + count) % count;
      answer([[], []], false, false);
      post({ id: run.id, example: run.example });
    }
  };
};

/* A shape for what is often put into a scene, in 24 x 24, stretched to its box; others are boxes. */
const LN_SCENE_GLYPHS = (() => {
  "use strict";
  const ring = (x, y, r, s) => `M${x - r} ${y}a${r} ${r} 0 1 1 ${2 * r} 0a${r} ${r} 0 1 1 ${-2 * r} 0z`
    + (s ? `M${x - s} ${y}a${s} ${s} 0 1 1 ${2 * s} 0a${s} ${s} 0 1 1 ${-2 * s} 0z` : "");
  const four = "M1 6l2 0 1 3h11l3-5 2 0 3 3v4h-4l-1 3v9h-3v-7H8v7H5v-9l-2-3z";
  const bus = "M1 4h22v15h-2a2.5 2.5 0 0 1-5 0H8a2.5 2.5 0 0 1-5 0H1zM3 6v5h4V6zM9 6v5h4V6zM15 6v5h6V6z";
  const wheels = `${ring(5.5, 17, 5, 3.6)}${ring(18.5, 17, 5, 3.6)}`;
  const glass = "M6 2h12l-2 20H8z", ball = ring(12, 12, 11.5);
  return {
    person: `${ring(12, 4, 3.6)}M7 9h10l3 8-2 1-2-3v9h-3v-7h-2v7H8v-9l-2 3-2-1z`,
    dog: four, sheep: four, cow: four, horse: four, zebra: four, bear: four,
    cat: "M3 23V9L2 1l5 3h3l5-3-1 8 5 5 2-6 2 0-1 9-2 6z",
    bird: "M1 12q7-8 13-5l3-3 6 4-5 1q0 9-8 10l-1 4h-1l0-4q-5-1-7-7z",
    elephant: "M2 23v-9q0-8 8-8h5q7-1 8 6v9h-2v-7l-2-1v10h-4v-6H8v6z",
    giraffe: "M3 24v-8l9-2 5-12 2-2 4 4-4 2-3 9v9h-2v-7H6v7z",
    car: "M1 17v-5l4-1 4-6h8l4 6 2 1v5h-2a3 3 0 0 1-6 0H9a3 3 0 0 1-6 0z",
    bus, train: bus, truck: "M1 4h14v4h4l4 5v6h-2a2.5 2.5 0 0 1-5 0H8a2.5 2.5 0 0 1-5 0H1z",
    bicycle: `${wheels}M6 17l4-10h-2V5h5v2h-1l-1 2h6l-1-4h4v2h-2l3 10-2 0-2-7-4 7z`,
    motorbike: `${wheels}M5 16l2-6h8l-1-5h5v2h-2l3 10-2 0-2-3-3 3z`,
    boat: "M1 15h22l-4 7H5zM11 1h2v13h-2zM14 3l8 10h-8z",
    aeroplane: "M1 12l9-2 6-9h3l-3 9h5l2-3h1l-1 5 1 5h-1l-2-3h-5l3 9h-3l-6-9z",
    surfboard: "M0 12q12-12 24 0q-12 12-24 0z",
    skateboard: `M0 5l3 3h18l3-3-1 7H1z${ring(6, 17, 4)}${ring(18, 17, 4)}`,
    snowboard: "M0 9l3 3h18l3-3v5q-12 6-24 0z",
    skis: "M0 13l20-6 3-4 1 1-3 6L1 16zM0 20l20-6 3-4 1 1-3 6L1 23z",
    "tennis racket": `${ring(15, 8, 8, 6)}M10 13l1.5 1.5L3 24 0 21z`,
    "baseball bat": "M1 20L18 2l5 0 0 4L4 23z",
    "sports ball": ball, orange: ball, apple: ball, clock: ring(12, 12, 11.5, 9),
    frisbee: "M0 12q12-12 24 0q-12 12-24 0z", donut: ring(12, 12, 11.5, 4),
    kite: "M12 0l10 10-10 14L2 10z",
    umbrella: "M0 12Q2 1 12 1t12 11l-4-2-4 2-3-2v13h-2V10l-3 2-4-2z",
    "traffic light": "M6 0h12v24H6zM9 2v5h6V2zM9 9v5h6V9zM9 16v5h6v-5z",
    "stop sign": "M7 0h10l7 7v10l-7 7H7l-7-7V7z",
    "fire hydrant": "M8 4q4-7 8 0v3h1v4h5v5h-5v6h2v2H5v-2h2v-6H2v-5h5V7h1z",
    bench: "M1 5h22v4H1zM1 12h22v4H1zM3 16h3v8H3zM18 16h3v8h-3z",
    chair: "M4 0h3v12h13v12h-3v-8H7v8H4z",
    sofa: "M0 10h4v6h16v-6h4v13H0zM5 4h14v10H5z",
    bed: "M0 3h3v10h21v11h-3v-5H3v5H0zM5 7h8v5H5z",
    "dining table": "M0 4h24v5H0zM3 9h3v15H3zM18 9h3v15h-3z",
    toilet: "M4 0h7v11h11q0 8-7 9v4H7v-5q-3-3-3-9z",
    tvmonitor: "M0 2h24v17H0zM2 4v13h20V4zM7 20h10v3H7z",
    laptop: "M4 2h16v13H4zM6 4v9h12V4zM0 17h24v4H0z",
    cup: "M2 3h15v3h6v10h-6v6H2zM17 9v4h3V9z", bowl: "M0 7h24q-1 15-12 16Q1 22 0 7z",
    bottle: "M9 0h6v6l4 5v13H5V11l4-5z", "wine glass": glass, vase: glass,
    pizza: "M12 1l12 19q-12 6-24 0z", cake: "M1 11h22v12H1zM11 2h2v9h-2z",
    "teddy bear": `${ring(6, 4, 3.5)}${ring(18, 4, 3.5)}${ring(12, 7, 6)}M4 14h16l3 6-4 0v4H5v-4l-4 0z`,
  };
})();

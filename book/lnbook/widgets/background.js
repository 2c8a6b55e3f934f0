/* Compute away from the page. `engine` and `serve` are functions whose source a Worker can run:
   serve(engine(), post) returns what answers a message. Where a browser or the policy of a host
   forbids the Worker, the page itself computes, a message at a time. Returns how to ask and
   stop it. Two widgets of a page may both bring it. */
window.lnBackground ??= (engine, serve, received) => {
  "use strict";
  let worker = null, send;
  let unanswered = []; // messages until the first answer: a policy may stop the Worker later
  function withoutWorker() {
    const answer = serve(engine(), (message) => setTimeout(() => received(message)));
    worker = null;
    send = (message) => setTimeout(() => answer(message));
    unanswered?.forEach(send);
    unanswered = null;
  }
  try {
    const code = `const answer = (${serve})((${engine})(), (message) => postMessage(message));\n`
      + "onmessage = (e) => answer(e.data);";
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    worker = new Worker(url);
    worker.onmessage = (e) => { unanswered = null; received(e.data); };
    worker.onerror = () => unanswered && withoutWorker();
    send = (message) => { unanswered?.push(message); worker.postMessage(message); };
  } catch { // a browser that forbids it
    withoutWorker();
  }
  return {
    send: (message) => send(message),
    apart: () => Boolean(worker), // not in the page
    stop: () => worker?.terminate(),
  };
};

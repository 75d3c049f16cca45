// A socket that reconnects when it is cut off or silent, and then reports the page's state.

const FIRST_MS = 250;
const LONGEST_MS = 10000;
const LOOK_MS = 250;
const PING_MS = 1500; // silence before a ping is sent
const ANSWER_MS = 2500; // together under five seconds: a frozen server must not count as live
const CONNECT_MS = 10000;
const REFUSED = new Set([4401, 4403, 4404, 4413]);

/** Go to the login, and back to the whole address of this page. */
export function logIn() {
  location.assign(`/login/?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`);
}

/**
 * Keep a socket open.
 * @param {string} path e.g. "/ws/default/".
 * @param {{opened?: (send: (data: any) => void) => void, told: (data: any) => void,
 *          state?: (state: "live"|"reconnecting"|"offline", code?: number) => void, done?: () => boolean}} how
 *   `opened` reports the page's state at each opening; `done` returns true if the server may close for good.
 *   The state is live while the server answers, reconnecting once it does not, and offline when it
 *   does not answer the next attempt either.
 * @returns {() => void} Function that closes the socket.
 */
export function keep(path, { opened, told, state = () => {}, done = () => false }) {
  let wait = FIRST_MS;
  let socket = null;
  let heardAt = 0;
  let askedAt = 0; // 0: no unanswered ping
  let failures = 0;
  let timer;
  const clock = setInterval(look, LOOK_MS);

  function open() {
    const mine = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
    socket = mine;
    askedAt = performance.now();
    mine.onopen = () => {
      heard();
      opened?.((data) => mine.send(JSON.stringify(data)));
    };
    mine.onmessage = (message) => {
      wait = FIRST_MS;
      heard();
      const data = JSON.parse(message.data);
      if (data.type !== "pong") told(data);
    };
    mine.onclose = ({ code }) => lost(code);
  }

  function heard() {
    heardAt = performance.now();
    askedAt = 0;
    failures = 0;
    state("live");
  }

  /** Ping a silent server, and reconnect if it does not answer. */
  function look() {
    if (!socket) return;
    const now = performance.now();
    if (socket.readyState === WebSocket.CONNECTING) {
      if (failures && now - askedAt > ANSWER_MS) state("offline");
      if (now - askedAt > CONNECT_MS) lost();
    } else if (askedAt) {
      if (now - askedAt > ANSWER_MS) lost();
    } else if (now - heardAt > PING_MS && socket.readyState === WebSocket.OPEN) {
      askedAt = now;
      socket.send('{"type":"ping"}');
    }
  }

  function lost(code) {
    drop();
    if (done()) return clearInterval(clock);
    failures += 1;
    state(failures > 1 ? "offline" : "reconnecting", code);
    if (code === 4401) logIn();
    if (REFUSED.has(code)) return clearInterval(clock);
    timer = setTimeout(open, wait * (0.75 + Math.random() / 2));
    wait = Math.min(LONGEST_MS, wait * 2);
  }

  function drop() {
    if (!socket) return;
    const gone = socket;
    socket = null;
    Object.assign(gone, { onopen: null, onmessage: null, onclose: null });
    gone.close();
  }

  open();
  return () => {
    clearInterval(clock);
    clearTimeout(timer);
    drop();
  };
}

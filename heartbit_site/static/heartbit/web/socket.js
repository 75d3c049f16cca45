// A socket that comes back: cut off, it opens again and says what it has.

const FIRST_MS = 250;
const LONGEST_MS = 10000;
const REFUSED = new Set([4401, 4403, 4404, 4413]);

/**
 * Keep a socket open.
 * @param {string} path e.g. "/ws/default/".
 * @param {{opened?: (send: (data: any) => void) => void, told: (data: any) => void,
 *          state?: (open: boolean, code?: number) => void, done?: () => boolean}} how
 *   `opened` says at each opening what the page has; `done` whether the server may hang up for good.
 * @returns {() => void} Ends it.
 */
export function keep(path, { opened, told, state = () => {}, done = () => false }) {
  let wait = FIRST_MS;
  let ended = false;
  let socket;
  let timer;

  function open() {
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
    socket.onopen = () => {
      state(true);
      opened?.((data) => socket.send(JSON.stringify(data)));
    };
    socket.onmessage = (message) => {
      wait = FIRST_MS;
      told(JSON.parse(message.data));
    };
    socket.onclose = ({ code }) => {
      if (ended || done()) return;
      state(false, code);
      if (code === 4401) location.assign(`/login/?next=${encodeURIComponent(location.pathname)}`);
      if (REFUSED.has(code)) return;
      timer = setTimeout(open, wait * (0.75 + Math.random() / 2));
      wait = Math.min(LONGEST_MS, wait * 2);
    };
  }

  open();
  return () => {
    ended = true;
    clearTimeout(timer);
    socket.close();
  };
}

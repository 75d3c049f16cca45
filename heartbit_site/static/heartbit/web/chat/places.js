// URLs of the chat and of runs.

const { home, runs } = document.getElementById("chat").dataset;

/** Return the URL of the chat, of an agent's conversations, or of one conversation. */
export function chatAddress(agent = "", conversation = "") {
  return `${home}${agent ? `${agent}/` : ""}${conversation ? `${conversation}/` : ""}`;
}

/** Return the URL of a run's page. */
export function runAddress(run) {
  return `${runs}${run}/`;
}

/** Parse the page's URL; `fresh` is a conversation that has not begun. */
export function here() {
  const [agent = "", conversation = ""] = location.pathname.slice(home.length).split("/");
  return { agent, conversation, fresh: location.hash === "#new" };
}

/** Follow links of the chat within the page. */
export function onGo(show) {
  document.getElementById("chat").addEventListener("click", (event) => {
    const link = event.target.closest("a[data-go]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.href);
  });
  addEventListener("popstate", show);
  shower = show;
}

let shower = () => {};

/** Go to a URL of the chat. */
export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  shower();
}

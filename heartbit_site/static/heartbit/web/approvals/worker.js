// Service worker of notifications: a click on one opens the inbox, in its tab if there is one.

addEventListener("notificationclick", (event) => {
  const { url } = event.notification.data;
  event.notification.close();
  event.waitUntil(clients.matchAll({ type: "window", includeUncontrolled: true }).then((tabs) => {
    const tab = tabs.find((one) => one.url.startsWith(url));
    return tab ? tab.focus() : clients.openWindow(url);
  }));
});

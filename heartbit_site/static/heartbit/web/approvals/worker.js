// Service worker of notifications: a click on one leads to the tab with the inbox.

addEventListener("notificationclick", (event) => {
  const { notification: { data } } = event;
  event.notification.close();
  event.waitUntil(clients.matchAll({ includeUncontrolled: true }).then((tabs) => tabs.find(({ url }) => url.startsWith(data.url))?.focus() ?? clients.openWindow(data.url)));
});

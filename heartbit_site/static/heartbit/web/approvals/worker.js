// Service worker of notifications: shows the server's, and leads from a click to the tab with the inbox.

addEventListener("push", (event) => {
  const { title, ...options } = event.data.json();
  event.waitUntil(registration.showNotification(title, options));
});

addEventListener("notificationclick", (event) => {
  const { notification: { data } } = event;
  event.notification.close();
  event.waitUntil(clients.matchAll({ includeUncontrolled: true }).then((tabs) => tabs.find(({ url }) => url.startsWith(data.url))?.focus() ?? clients.openWindow(data.url)));
});

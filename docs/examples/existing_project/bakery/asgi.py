"""The bakery's sockets before Heartbit's; `heartbit web` serves this application."""

from channels.generic.websocket import WebsocketConsumer
from channels.routing import URLRouter
from django.urls import path

from heartbit_site.asgi import application as heartbit


class Oven(WebsocketConsumer):
    def receive(self, text_data=None, bytes_data=None):
        self.send(f"{text_data} in the oven")


sockets = URLRouter([path("oven/", Oven.as_asgi())])


async def application(scope, receive, send):
    is_own = scope["type"] == "websocket" and scope["path"] == "/oven/"
    await (sockets if is_own else heartbit)(scope, receive, send)

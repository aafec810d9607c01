#!/usr/bin/env python3
"""An engine's HTTP endpoints as a drain hook sees them. Prints its port, then answers by the plan in argv[1] (JSON):

  load, metrics   answers of GET /load and /metrics, one a request, the last for ever; a number stands for 500 or such
  drain           status of POST /drain
  serve           requests after which the server vanishes; absent: never
  hang            true: accepts and never answers
  hold            seconds for which a client keeps a connection open
Each request is written to standard error.
"""
import http.server
import json
import os
import socket
import sys
import threading
import time

plan = json.loads(sys.argv[1])
count = 0
asked = {"/load": 0, "/metrics": 0}


class Engine(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=""):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def planned(self, key):
        answers = plan.get(key, [404])
        value = answers[min(asked[self.path], len(answers) - 1)]
        asked[self.path] += 1
        if isinstance(value, int):
            self.answer(value)
        else:
            self.answer(200, value)

    def handle_request(self):
        global count
        count += 1
        print(self.command, self.path, file=sys.stderr, flush=True)
        if "serve" in plan and count > plan["serve"]:
            os._exit(0)
        if self.path == "/health":
            self.answer(200)
        elif self.path in asked:
            self.planned(self.path[1:])
        elif self.path == "/drain" and self.command == "POST":
            self.answer(plan.get("drain", 200))
        else:
            self.answer(404)

    do_GET = do_POST = handle_request

    def log_message(self, *_):
        pass


if plan.get("hang"):
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    time.sleep(600)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
print(server.server_port, flush=True)
if "hold" in plan:
    client = socket.create_connection(server.server_address)
    threading.Timer(plan["hold"], client.close).start()
server.serve_forever()

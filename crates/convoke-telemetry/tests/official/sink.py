"""A collector on the protocol's official classes. Prints its port, then a JSON line for every span and metric that comes.

The first requests, as many as the argument says, are answered with 503. Ends when its standard input does.
"""
import http.server
import json
import os
import sys
import threading

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

refusals = int(sys.argv[1])
lock = threading.Lock()


def spans(body):
    request = traces.ExportTraceServiceRequest()
    request.ParseFromString(body)
    for group in request.resource_spans:
        for scope in group.scope_spans:
            for span in scope.spans:
                yield {
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "trace": span.trace_id.hex(),
                    "name": span.name,
                    "took": span.end_time_unix_nano - span.start_time_unix_nano,
                }


def instruments(body):
    request = metrics.ExportMetricsServiceRequest()
    request.ParseFromString(body)
    for group in request.resource_metrics:
        for scope in group.scope_metrics:
            for metric in scope.metrics:
                yield {"metric": metric.name, "kind": metric.WhichOneof("data")}


SIGNALS = {
    "/v1/traces": (spans, traces.ExportTraceServiceResponse),
    "/v1/metrics": (instruments, metrics.ExportMetricsServiceResponse),
}


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global refusals
        body = self.rfile.read(int(self.headers["content-length"]))
        items, response = SIGNALS[self.path]
        with lock:
            status, reply = 503, b""
            if refusals > 0:
                refusals -= 1
            else:
                for item in items(body):
                    print(json.dumps(item), flush=True)
                status, reply = 200, response().SerializeToString()
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)

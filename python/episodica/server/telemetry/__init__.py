"""What the service tells about itself: Prometheus metrics and OpenTelemetry spans.

Both are optional. Neither ever contains a message's text or a user's id.
"""

from __future__ import annotations

from wfc.language.fields import ANYTHING, FLAG, SECONDS_COMPUTED, TEXT, TEXTS
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import HttpCallResult


class HttpCall(Served):
    """Make an HTTP request.

    The server makes it if its operator allows the host with `--allow-http`; otherwise the agent does. Every status is
    data: `success` says whether it is 2xx. A response of the server's own request has at most 100 KiB, and redirects
    lead only to hosts that are allowed.

    ```yaml
    - id: get-release
      type: http_call
      url: https://api.example.com/releases/latest
      headers: {Accept: application/json}
      output_to: release
    ```
    """

    kind = "http_call"
    label = "an http_call step"
    acts = True
    origin = ("a response", "the response to {} is untrusted")
    result = HttpCallResult

    url = Field(
        TEXT, "The URL, with http or https.", required=True, example="https://api.example.com/releases"
    )
    method = Field(TEXT, "The method.", default="GET")
    headers = Field(TEXTS, "Headers of the request, by name.")
    json = Field(ANYTHING, "The body, sent as JSON.")
    content = Field(TEXT, "The body as text, instead of `json`.")
    timeout = Field(SECONDS_COMPUTED, "The time limit in seconds.", default=30)
    follow_redirects = Field(FLAG, "Whether to follow redirects.", default=True)

# SPDX-License-Identifier: Apache-2.0
"""An OpenID issuer, and webhooks that know tokens and rights; keys and signatures by openssl.

    issuer.py key DIR KID                      a new RSA key, which the key set has from now on
    issuer.py token DIR KID [CLAIM=JSON …]     a token of the shape Keycloak gives; alg=… changes it
    issuer.py serve DIR [PORT]                 serves DIR, with its tls.crt and tls.key, on a free port

What is asked for is written to DIR/log, a line each.  `serve` writes its port to DIR/port
and says that it is ready.
"""

import base64
import http.server
import json
import os
import ssl
import subprocess
import sys
import time


def text64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def openssl(*args, data=None):
    return subprocess.run(["openssl", *args], input=data, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def key_file(folder, kid):
    return os.path.join(folder, "keys", kid + ".pem")


def issuer_of(folder):
    with open(os.path.join(folder, "port")) as f:
        return f"https://127.0.0.1:{f.read().strip()}/realms/r"


def make_key(folder, kid):
    os.makedirs(os.path.join(folder, "keys"), exist_ok=True)
    openssl("genrsa", "-out", key_file(folder, kid), "2048")


def make_token(folder, kid, changes):
    now = int(time.time())
    claims = {
        "exp": now + 300, "iat": now, "jti": "11111111-2222-3333-4444-555555555555",
        "iss": issuer_of(folder), "aud": ["kairship", "account"],
        "sub": "8a2e9e0c-6f7b-4a6e-9d0a-1b2c3d4e5f60", "typ": "Bearer", "azp": "kairship",
        "acr": "1", "realm_access": {"roles": ["dev", "offline_access"]},
        "resource_access": {"account": {"roles": ["view-profile"]}},
        "scope": "openid profile email", "email_verified": True, "name": "Jane Doe",
        "preferred_username": "jane", "email": "jane@example.com", "groups": ["devs"],
    }
    alg = "RS256"
    for change in changes:
        name, _, value = change.partition("=")
        if name == "alg":
            alg = value
        elif value == "":
            claims.pop(name, None)
        elif name in ("exp", "nbf", "iat"):
            claims[name] = now + int(value)
        else:
            claims[name] = json.loads(value)
    header = {"alg": alg, "typ": "JWT", "kid": kid}
    text = ".".join(text64(json.dumps(part).encode()) for part in (header, claims))
    options = []
    if alg == "PS256":
        options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"]
    signature = openssl("dgst", "-sha256", "-sign", key_file(folder, kid), *options,
                        data=text.encode())
    print(text + "." + text64(signature))


def key_set(folder):
    keys = [{"kid": "enc", "kty": "RSA", "alg": "RSA-OAEP", "use": "enc", "n": "AQAB", "e": "AQAB"}]
    for name in sorted(os.listdir(os.path.join(folder, "keys"))):
        out = openssl("rsa", "-in", os.path.join(folder, "keys", name), "-noout", "-modulus")
        number = bytes.fromhex(out.decode().strip().partition("=")[2])
        keys.append({"kid": name[:-4], "kty": "RSA", "alg": "", "use": "sig", "n": text64(number),
                     "e": "AQAB"})
    return {"keys": keys}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = ""

    def log_message(self, *args):
        pass

    def note(self, line):
        with open(os.path.join(self.folder, "log"), "a") as f:
            f.write(line + "\n")

    def answer(self, body, code=200):
        raw = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self):
        self.note("GET " + self.path)
        issuer = issuer_of(self.folder)
        if self.path == "/realms/r/.well-known/openid-configuration":
            self.answer({"issuer": issuer, "jwks_uri": issuer + "/certs"})
        elif self.path == "/realms/r/certs":
            self.answer(key_set(self.folder))
        else:
            self.answer({}, 404)


def serve(folder, port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key"))
    Handler.folder = folder
    server = Server(("127.0.0.1", port), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(os.path.join(folder, "port.new"), "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    print("ready", flush=True)
    server.serve_forever()


def main(argv):
    if argv[1] == "key":
        make_key(argv[2], argv[3])
    elif argv[1] == "token":
        make_token(argv[2], argv[3], argv[4:])
    elif argv[1] == "serve":
        serve(argv[2], int(argv[3]) if len(argv) > 3 else 0)
    else:
        sys.exit(__doc__)


main(sys.argv)

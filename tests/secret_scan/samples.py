"""Made-up secrets, each of which must be found, and innocents, each of which must stay quiet.

Both are the whole bytes of a file or record. Secrets are put together here, so that this file
holds none.
"""

import base64
import codecs
import json

from trlm_lab.base import canon

HEX = "5f3ac8d1e60b7294fa5be3902cd7164835d1ac9e07f64b28d9c0e15b7a36f842"
LETTERS = "k7Qz2mXw9RbT4vNsLp8YcHd3GfJx6KtV"
AWS_ID = "AKIA" + "QWJ7ZPL3MX5VN2RT"
AWS_SECRET = "wJalrX7tnFE" + "MI/K7MDENG+bPxRfiCYzQ8pLm3vKe"
HUB = "hf_" + LETTERS + "AbCd"
GITHUB = "ghp_" + LETTERS + "AbCd"
WORD = "Tr0ub4dor&3"
PLAIN = "correcthorsebattery"


def text(value: str) -> bytes:
    return value.encode()


def record(**row: object) -> bytes:
    return canon.encode(row)


def document(value: object) -> bytes:
    return json.dumps(value).encode()


def packed(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


SECRETS: dict[str, bytes] = {
    # Only the key tells.
    "user and password in JSON": document({"user": "ada", "password": PLAIN}),
    "user and password in a record": record(user="ada", password=PLAIN),
    "a nested password": document({"db": [{"host": "h", "db_password": WORD}]}),
    "a password of digits": document({"password": "93847561"}),
    "an id and its secret in neighbours": record(
        aws_access_key_id=AWS_ID, aws_secret_access_key=AWS_SECRET
    ),
    "the secret alone, by its key": record(aws_secret_access_key=AWS_SECRET),
    "a client secret": document({"client_id": "app", "client_secret": PLAIN + "9"}),
    "an access token": document({"access_token": PLAIN + "7"}),
    "a token of the Hub, by its key": document({"hf-token": PLAIN + "5"}),
    "a passphrase": record(key={"passphrase": PLAIN}),
    "a name and its value": document([{"name": "DB_PASSWORD", "value": WORD}]),
    "a key and its value": document({"key": "api_key", "value": PLAIN}),
    "JSON in a text": text(f'response: {{"user": "ada", "password": "{WORD}"}} at 12:00'),
    "two in one line": text(f'{{"password": "YOUR_PASSWORD"}} {{"password": "{PLAIN}"}}'),
    "Python": text(f'client = login(user="ada", password="{PLAIN}")'),
    "a cell of a notebook": document(
        {"cells": [{"source": ["import x\n", f'api_key = "{PLAIN}1"\n']}]}
    ),
    "an environment": text(f"export DB_PASSWORD={PLAIN}\n"),
    "an environment with quotes": text(f'HF_TOKEN="{PLAIN}2"\n'),
    "an environment in a command": text(f"AWS_SECRET_ACCESS_KEY={AWS_SECRET} aws s3 ls"),
    "a list of arguments": document(["run", "--password", PLAIN]),
    "curl in a list of arguments": document(["curl", "-u", f"ada:{PLAIN}", "https://h.test"]),
    # UTF-16.
    "UTF-16 with a mark": codecs.BOM_UTF16_LE + f"my key is {AWS_ID}".encode("utf-16-le"),
    "UTF-16, big-endian, with a mark": codecs.BOM_UTF16_BE + f"é {HUB}".encode("utf-16-be"),
    "UTF-16 without a mark": f"token: {GITHUB}\r\n".encode("utf-16-le"),
    "UTF-16, big-endian, without a mark": f"token: {GITHUB}\r\n".encode("utf-16-be"),
    "UTF-16 among other letters": f"Ключ: {HUB}, конец".encode("utf-16-le"),
    "UTF-16 JSON": json.dumps({"password": PLAIN}).encode("utf-16-le"),
    "UTF-16 in a record": record(data=f"key {AWS_ID}".encode("utf-16-le")),
    "UTF-16 in an array": bytes(range(256)) + AWS_ID.encode("utf-16-be") + bytes(64),
    "zeros in a text": record(text="\0".join(AWS_ID)),
    # Commands, headers, addresses.
    "curl -u": text(f"curl -u ada:{PLAIN} https://h.test/api"),
    "curl -su, quoted": text(f"curl -X POST -su 'ada:{WORD}' https://h.test/api"),
    "curl --user=": text(f"$ curl --user=ada:{PLAIN} https://h.test"),
    "curl --proxy-user": text(f"curl --proxy-user ada:{PLAIN} https://h.test"),
    "wget": text(f"wget --http-password={PLAIN} https://h.test"),
    "a bearer": text(f'curl -H "Authorization: Bearer {LETTERS[:20]}" https://h.test'),
    "a basic header": text(f"Authorization: Basic {packed('ada:' + WORD)}"),
    "a header in JSON": document({"headers": {"Authorization": f"Bearer {PLAIN}"}}),
    "an address": text(f"https://ada:{PLAIN}@h.test/repo.git"),
    "an address with odd letters": text(f"postgres://ada:{WORD}!$x@db.test:5432/x"),
    "an address without a user": text(f"redis://:{PLAIN}@cache.test:6379/0"),
    "a token in an address": text(f"git clone https://ada:{GITHUB}@github.com/a/b"),
    "a parameter": text(f"https://h.test/file?access_token={PLAIN}&x=1"),
    "a signed address": text(f"https://b.s3.test/x?X-Amz-Signature={HEX}"),
    "a parameter of a public host": text(f"https://huggingface.co/a/b?token={LETTERS}"),
    # Near what is quiet.
    "hex without a name": text(f"key {HEX[:40]}"),
    "hex under a key that names nothing": record(token=HEX[:40]),
    "hex under a password": document({"password": HEX}),
    "base64 without a name": text(f"value {LETTERS}{LETTERS[::-1]}"),
    "base64 behind an equals sign": text(f"setting={LETTERS}{LETTERS[::-1]}"),
    "an access key in lower case": text(f"aws_secret_access_key={AWS_SECRET}"),
    # Keys and files of other programs.
    "PuTTY's key": text("PuTTY-User-Key-" + "File-2: ssh-rsa"),
    "an encrypted key": text("-----BEGIN ENCRYPTED " + "PRIVATE KEY-----"),
    "Databricks": text("dapi" + HEX[:32]),
    "New Relic": text("NRAK-" + "QWJ7ZPL3MX5VN2RT8YK4C6D9B1F"),
    "netrc": text(f"machine h.test login ada password {PLAIN}"),
    "a header with a key": text(f"x-api-key: {HEX[:32]}"),
    # Personal data.
    "another's home": text("~ada/models/config.json"),
    "letters beyond ASCII": text("jürgen@müller.de"),
    "a token on a public host": text(f"https://huggingface.co/a/{HUB}"),
    "a token beside a placeholder": text(f"export HF_TOKEN=hf_xxxxxxxx # was {HUB}"),
}

INNOCENTS: dict[str, bytes] = {
    # Model cards.
    "an upload": text(
        "![plot](https://cdn-uploads.huggingface.co/production/uploads/"
        "61c141342aac764ce1654e43/RvHjdlRT5gGQt5mJuhXH9.png)"
    ),
    "an avatar": text(
        '<img src="https://cdn-avatars.huggingface.co/v1/production/uploads/'
        '65d66b494bbd0d92b641cdbb/6-7dm7B-JxcoS1QlCPdMN.jpeg">'
    ),
    "an image of GitHub": text(
        "https://user-images.githubusercontent.com/123/"
        f"283746152-{HEX[:8]}-4c2d-9e1f-aB3dE5fG7hI9.png"
    ),
    "a file at a commit": text(f"https://huggingface.co/a/b/resolve/{HEX[:40]}/config.json"),
    "a line at a commit": text(f"https://github.com/a/b/blob/{HEX[:40]}/x.py#L10"),
    "a raw file": text(f"https://raw.githubusercontent.com/a/b/{HEX[:40]}/README.md"),
    "a badge": text("https://img.shields.io/badge/License-Apache_2.0-blue.svg"),
    "a paper": text("@misc{x, url={https://arxiv.org/abs/2502.02737}, eprint={2502.02737}}"),
    # Commit ids and checksums.
    "a commit": text(f"at commit {HEX[:40]}"),
    "a revision in JSON": document({"revision": HEX[:40]}),
    "a revision in Python": text(f'from_pretrained("a/b", revision="{HEX[:40]}")'),
    "a pin": text(f"hf:owner/name@{HEX[:40]}"),
    "a sha in a record": record(sha=HEX[:40]),
    "an object of the large file store": text(f"oid sha256:{HEX}\nsize 538090408\n"),
    "a checksum": text(f"SHA-256: {HEX}"),
    "a checksum in JSON": document({"file_sha256": HEX, "md5": HEX[:32]}),
    "sha256sum": text(f"{HEX}  model.safetensors\n"),
    "md5sum": text(f"{HEX[:32]} *model.bin\n"),
    "a requirement": text(f"numpy==2.0 --hash=sha256:{HEX}"),
    "an integrity": text(f'integrity="sha384-{LETTERS}{LETTERS[::-1]}"'),
    "an etag": text(f'ETag: "{HEX[:32]}"'),
    # Placeholders.
    "a token of x": text("HF_TOKEN=hf_" + "x" * 34),
    "a token of GitHub of x": text("GITHUB_TOKEN=ghp_" + "x" * 36),
    "a token of x and dots": text("login(token='hf_xxxx...')"),
    "a token in brackets": text('curl -H "Authorization: Bearer <token>" https://h.test'),
    "YOUR_API_KEY": document({"api_key": "YOUR_API_KEY"}),
    "your token here": text('client(api_key="your-token-here")'),
    "the example of the documentation": text("AKIA" + "IOSFODNN7EXAMPLE"),
    "a masked password": document({"password": "********"}),
    "a password that is the word": document({"user": "x", "password": "password"}),
    "an empty password": document({"password": ""}),
    "a variable of the shell": text("curl -u $USER:$PASSWORD https://h.test"),
    "a variable in a header": text('-H "Authorization: Bearer $HF_TOKEN"'),
    "a secret of a workflow": text("HF_TOKEN=${{ secrets.HF_TOKEN }}"),
    "a call": text('password="getpass()"'),
    "an address to fill in": text("https://<user>:<password>@h.test/"),
    "an address of words": text("postgres://user:password@localhost/db"),
    "a sequence": document({"secret": "1234567890"}),
    # Paths and times.
    "one's own home": text("see ~/models and ~5/10"),
    "a short name of DOS": text("C:/DOCUME~1/x"),
    "a login in prose": text("After the login a password is asked for"),
    "a mention in a script without spaces": text("请看@某某.com"),
    # Words.
    "prose": text("The password must never be written down; a secret is kept by one."),
    "a key in prose": text("Set the API key: it stands in your settings, under tokens."),
    "special tokens": document({"eos_token": "<|im_end|>", "unk_token": "<|endoftext|>"}),
    "a vocabulary": document({"secret": 3217, "password": 4120, "token": 12}),
    "merges": document([["pass", "word"], ["secret", "aries"]]),
    "limits": document({"max_tokens": 128, "token_count": "100000000"}),
    "a template": text("{{ secret }} {% if password %}{{ password }}{% endif %}"),
    "curl without a password": text("curl -u ada https://h.test -o out:file"),
    "a port": text("http://localhost:8080/a@b"),
    "an address with a user": text("git clone ssh://git@github.test/a/b"),
    "numbers in an array": bytes(range(256)) * 8,
    "small numbers in 16 bits": b"".join(n.to_bytes(2, "little") for n in range(32, 127)),
}

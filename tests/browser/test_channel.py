"""The hand-over of frames: bounded, ended, failed, silent."""

import threading

import pytest

from trlm_lab.backends.browser.channel import Channel
from trlm_lab.errors import BrowserTimeoutError


def test_frames_come_in_order_and_end() -> None:
    channel = Channel()
    assert channel.put(bytearray(b"a"))
    assert channel.put(bytearray(b"b"))
    channel.end()
    assert list(channel.frames(5.0)) == [b"a", b"b"]


def test_a_full_channel_blocks_until_a_frame_is_taken() -> None:
    channel = Channel(capacity=1)
    channel.put(bytearray(b"a"))
    second_is_in = threading.Event()

    def send() -> None:
        channel.put(bytearray(b"b"))
        second_is_in.set()

    sender = threading.Thread(target=send)
    sender.start()
    frames = channel.frames(5.0)
    assert not second_is_in.wait(0.05)
    assert next(frames) == b"a"
    assert second_is_in.wait(5.0)
    sender.join()
    assert next(frames) == b"b"


def test_closing_releases_a_blocked_sender() -> None:
    channel = Channel(capacity=1)
    channel.put(bytearray(b"a"))
    answers: list[bool] = []
    sender = threading.Thread(target=lambda: answers.append(channel.put(bytearray(b"b"))))
    sender.start()
    channel.close()
    sender.join(5.0)
    assert answers == [False]


def test_what_came_before_a_failure_is_still_delivered() -> None:
    channel = Channel()
    channel.put(bytearray(b"a"))
    channel.end(RuntimeError("the page failed"))
    frames = channel.frames(5.0)
    assert next(frames) == b"a"
    with pytest.raises(RuntimeError, match="the page failed"):
        next(frames)


def test_nobody_sends_after_the_end() -> None:
    channel = Channel()
    channel.end()
    assert not channel.put(bytearray(b"late"))


def test_silence_is_a_timeout() -> None:
    with pytest.raises(BrowserTimeoutError, match=r"no sign of life for 0\.05 s"):
        next(Channel().frames(0.05))

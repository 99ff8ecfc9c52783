"""What an MQTT broker has is in the spool once, however often the receiver is killed."""

import subprocess
import sys
import threading
import time
from random import Random

from freshet.spark.live.mqtt import MqttReceiver
from freshet.spark.live.spool import Spool, read_documents
from waiting import wait_until

COUNT = 3000
PROGRAM = """
import sys, time
from pathlib import Path
from freshet.spark.live.mqtt import MqttReceiver
from freshet.spark.live.spool import Spool
folder = Path(sys.argv[1])
receiver = MqttReceiver(
    Spool(folder), folder, host="127.0.0.1", port=int(sys.argv[2]), topic="many/+", quality=1, client="killed",
    login=None, tls=False, quiet_ms=500,
)
receiver.start()
time.sleep(600)
"""


def receiver(folder, port):
    return MqttReceiver(
        Spool(folder), folder, host="127.0.0.1", port=port, topic="many/+", quality=1, client="killed",
        login=None, tls=False, quiet_ms=2000,
    )  # fmt: skip


def size(folder):
    return sum(file.stat().st_size for file in folder.glob("*.documents"))


def test_a_killed_receiver_neither_loses_nor_repeats(mosquitto, tmp_path):
    folder, random = tmp_path / "spool", Random()
    first = receiver(folder, mosquitto.port)
    first.start()
    wait_until(lambda: (folder / "status").exists())
    first.stop()
    first.spool.close()
    publisher = threading.Thread(
        target=lambda: mosquitto.publish("many/things", (f"{at}" for at in range(COUNT))), daemon=True
    )
    publisher.start()
    for _ in range(3):
        before = size(folder)
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), str(mosquitto.port)])
        wait_until(lambda before=before: size(folder) > before)
        time.sleep(random.random() / 20)
        process.kill()
        process.wait()
    publisher.join(60)
    last = receiver(folder, mosquitto.port)
    last.start()
    wait_until(last.at_end)
    last.stop()
    end = last.spool.end
    found = [
        line
        for batch in read_documents(last.spool.between(0, end), 0, end)
        for line in batch.column("line").to_pylist()
    ]
    last.spool.close()
    assert sorted(found, key=int) == [f"{at}" for at in range(COUNT)]

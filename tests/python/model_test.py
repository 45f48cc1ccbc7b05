# SPDX-License-Identifier: Apache-2.0
"""Saved models and checkpoints."""

import math

import numpy as np
import pytest

import motley


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a model of two classes, its data and its checkpoints."""
    folder = tmp_path_factory.mktemp("trained")
    draw = np.random.default_rng(4)
    x = draw.normal(size=(500, 3))
    y = np.where(x[:, 0] > x[:, 1], 5, 2)
    job = motley.train(data=(x, y), model="softmax", steps=200, checkpoint=folder / "kept", checkpoint_every=50)
    job.save(folder / "model.safetensors")
    return folder, x, y


def test_evaluate(trained):
    folder, x, y = trained
    found = motley.evaluate(folder / "model.safetensors", (x, y))
    assert found.classifies and found.count == 500 and found.accuracy > 0.95 and 0 < found.loss < 0.3
    assert found.auc > 0.95 and math.isnan(found.r2)
    assert found.details["confusion"]["labels"] == [2, 5]


def test_predict(trained, tmp_path):
    folder, x, y = trained
    model = folder / "model.safetensors"
    found = motley.predict(model, x)
    assert found.evaluation is None and np.mean(found.values == y) > 0.95
    named = motley.predict(model, (x, y), out=tmp_path / "out.csv")
    assert named.evaluation.count == 500
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "prediction" and [float(line) for line in lines[1:]] == named.values.tolist()
    chances = motley.predict(model, x, probabilities=True).values
    assert chances.shape == (500, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(np.array([2, 5])[chances.argmax(axis=1)], found.values)


def test_notices_of_predict_and_their_exceptions(tmp_path):
    (tmp_path / "train.csv").write_text("a,b,label\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(60)))
    (tmp_path / "rows.csv").write_text("a,b,other\n1,2,3\n")
    job = motley.train(data=tmp_path / "train.csv", steps=20)
    model, rows = tmp_path / "model.safetensors", tmp_path / "rows.csv"
    job.save(model)
    notices = []
    motley.predict(model, rows, events=notices.append)
    assert "'other'" in notices[0].text and notices[0].kind == motley.EventKind.NOTICE

    def refuse(event):
        raise RuntimeError(event.text)

    with pytest.raises(RuntimeError) as failed:
        motley.predict(model, rows, events=refuse)
    assert str(failed.value) == notices[0].text


def test_missing_files_and_wrong_data(trained):
    folder, x, _ = trained
    with pytest.raises(motley.NotFound, match="nowhere.safetensors"):
        motley.evaluate(folder / "nowhere.safetensors", (x, x[:, 0]))
    with pytest.raises(motley.DataError):
        motley.predict(folder / "model.safetensors", x[:, :2])


def test_checkpoints_are_listed_verified_restored_and_exported(trained, tmp_path):
    folder, x, y = trained
    kept = folder / "kept"
    listed = motley.checkpoint.list_checkpoints(kept)
    assert listed[0]["step"] == 200 and listed[0]["restorable"]
    assert motley.checkpoint.verify(kept)["step"] == 200
    assert motley.checkpoint.verify(kept, listed[-1]["step"])["step"] == listed[-1]["step"]
    lost = listed[0]["shards"][0]["path"]
    with open(lost, "r+b") as file:
        file.truncate(100)
    with pytest.raises(motley.DataError) as failed:
        motley.checkpoint.verify(kept)
    assert failed.value.checkpoint["restorable"]
    assert not motley.checkpoint.restore(kept)["degraded"]
    assert motley.checkpoint.verify(kept)["survives"] == 2
    motley.checkpoint.export(kept, tmp_path / "ours.safetensors")
    motley.checkpoint.export(kept, tmp_path / "torch.safetensors", format="torch")
    assert motley.evaluate(tmp_path / "ours.safetensors", (x, y)).accuracy > 0.95
    with pytest.raises(motley.NotFound):
        motley.checkpoint.list_checkpoints(folder / "nowhere")
    with pytest.raises(motley.NotFound):
        motley.checkpoint.verify(kept, 7)


def test_a_job_goes_on_from_a_checkpoint(trained):
    folder, x, y = trained
    job = motley.train(data=(x, y), resume=folder / "kept", steps=230)
    assert job.report["resumed_from"] == 200 and job.report["steps"] == 230

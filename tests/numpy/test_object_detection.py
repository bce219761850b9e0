"""Matches of detections, against pycocotools and against loops over the detections."""

import contextlib
import io
import json

import numpy as np
import pytest
from pycocotools import coco, cocoeval

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.detection import matching


def scene(rng):
    """Makes detections and true objects in COCO's format: on a grid, so that overlaps
    and scores are equal now and then; with crowds, and with images and classes of which
    there are no detections or no objects.
    """
    images, categories = rng.integers(1, 5), rng.integers(1, 4)

    def row():
        corner, sides = rng.integers(0, 8, 2), rng.integers(0, 7, 2)
        return {
            "image_id": int(rng.integers(1, images + 1)),
            "category_id": int(rng.integers(1, categories + 1)),
            "bbox": (4.0 * np.r_[corner, sides]).tolist(),
        }

    def near(row):
        moves = rng.choice([0, 0, 0, 1, 2], 4)
        return row | {"bbox": (np.array(row["bbox"]) + moves).tolist()}

    objects = [row() for _ in range(rng.integers(0, 20))]
    annotations = [
        {
            **row,
            "id": index + 1,
            "iscrowd": int(rng.random() < 0.2),
            "area": row["bbox"][2] * row["bbox"][3],
        }
        for index, row in enumerate(objects)
    ]
    results = [
        {**found, "score": float(rng.integers(0, 8) / 8)}
        for found in (
            near(rng.choice(objects)) if objects and rng.random() < 0.6 else row()
            for _ in range(rng.integers(1, 60))
        )
    ]
    truth = {
        "images": [{"id": i} for i in range(1, images + 2)],
        "categories": [
            {"id": i, "name": f"class {i}"} for i in range(1, categories + 2)
        ],
        "annotations": annotations,
    }
    return results, truth


def coco_matches(results, truth, iou, areas=(0, 1e10)):
    """Returns what COCO's evaluation makes of each detection: the index of its true
    object or -1, and whether it is ignored; and the number of missed objects.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        true = coco.COCO()
        true.dataset = json.loads(json.dumps({"info": {}, **truth}))
        true.createIndex()
        found = true.loadRes(json.loads(json.dumps(results)))
        evaluation = cocoeval.COCOeval(true, found, "bbox")
        evaluation.params.iouThrs = np.array([iou])
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [areas], ["all"]
        evaluation.params.maxDets = [1000]
        evaluation.evaluate()
    places = {row["id"]: index for index, row in enumerate(truth["annotations"])}
    truths, ignored, missed = np.full(len(results), -1), np.zeros(len(results)), 0
    for image in filter(None, evaluation.evalImgs):
        for place, detection in enumerate(image["dtIds"]):
            match = int(image["dtMatches"][0, place])
            truths[detection - 1] = places[match] if match else -1
            ignored[detection - 1] = image["dtIgnore"][0, place]
        # A crowd may be found, but is not missed.
        gt_ignored = np.asarray(image["gtIgnore"], bool)
        missed += int(np.sum((image["gtMatches"][0] == 0) & ~gt_ignored))
    return truths, ignored.astype(bool), missed


def overlap(a, b, crowd=False):
    """Returns the overlap of two boxes [x, y, width, height]."""
    sides = [
        max(0, min(a[i] + a[i + 2], b[i] + b[i + 2]) - max(a[i], b[i])) for i in (0, 1)
    ]
    common, areas = sides[0] * sides[1], (a[2] * a[3], b[2] * b[3])
    union = areas[0] if crowd else sum(areas) - common
    return common / union if common else 0.0


def test_matches_of_200_scenes_are_those_of_pycocotools(rng):
    seen = np.zeros(4, int)
    for number in range(200):
        results, truth = scene(rng)
        iou = float(rng.choice([0.1, 0.25, 0.5, 0.75, 1.0]))
        expected, ignored, missed = coco_matches(results, truth, iou)
        given = um.detection.read_coco(results, truth)
        found = um.detection.match_detections(**given, iou=iou)
        np.testing.assert_array_equal(found.truth, expected, f"scene {number}")
        np.testing.assert_array_equal(found.counted, ~ignored)
        np.testing.assert_array_equal(found.matched, (expected >= 0) & ~ignored)
        assert found.num_missed == missed
        overlaps = np.zeros(len(results))
        for i in np.flatnonzero(expected >= 0):
            true = truth["annotations"][expected[i]]
            overlaps[i] = overlap(results[i]["bbox"], true["bbox"], true["iscrowd"])
        np.testing.assert_array_equal(found.iou, overlaps)
        seen += np.sum(found.matched), np.sum(ignored), missed, not truth["annotations"]
    assert np.all(seen > [500, 200, 500, 0])  # The scenes have all that matters.


def test_ignored_objects_are_those_outside_a_range_of_areas(rng):
    low, high = 60, 300
    for number in range(20):
        results, truth = scene(rng)
        expected, ignored, missed = coco_matches(results, truth, 0.5, (low, high))
        given = um.detection.read_coco(results, truth)
        areas = given["truth_boxes"][:, 2] * given["truth_boxes"][:, 3]
        outside = (areas < low) | (areas > high)
        found = um.detection.match_detections(**given, truth_ignored=outside)
        np.testing.assert_array_equal(found.truth, expected, f"scene {number}")
        # COCO ignores the detections outside the range that match nothing, too.
        areas = given["boxes"][:, 2] * given["boxes"][:, 3]
        left_out = (found.truth < 0) & ((areas < low) | (areas > high))
        np.testing.assert_array_equal(found.counted & ~left_out, ~ignored)
        assert found.num_missed == missed


def naive(given, iou):
    """Returns the indices of true objects by a loop over the detections."""
    truths, taken = np.full(len(given["boxes"]), -1), set()
    for i in np.argsort(-np.asarray(given["scores"]), kind="stable"):
        best = iou
        for j, box in enumerate(given["truth_boxes"]):
            same = all(
                given[name][i] == given[f"truth_{name}"][j]
                for name in ("classes", "images")
            )
            value = overlap(given["boxes"][i], box)
            if same and j not in taken and value >= best and value > 0:
                best, truths[i] = value, j
        taken |= {truths[i]} - {-1}
    return truths


def real_scene(rng, n=300, m=60, images=9):
    """Makes arguments with boxes of any size, for classes and images that are text."""
    truth_boxes = np.c_[rng.uniform(0, 90, [m, 2]), rng.uniform(5, 60, [m, 2])]
    boxes = np.abs(truth_boxes[rng.integers(0, m, n)] + rng.normal(0, 5, [n, 4]))

    def words(size, number):
        return rng.choice([f"word {i}" for i in range(number)], size)

    return {
        "boxes": boxes,
        "scores": rng.random(n),
        "classes": words(n, 2),
        "truth_boxes": truth_boxes,
        "truth_classes": words(m, 2),
        "images": words(n, images),
        "truth_images": words(m, images),
    }


@pytest.mark.parametrize("iou", [0.0, 0.3, 0.6])
def test_matches_equal_a_loop(iou, rng):
    given = real_scene(rng)
    found = um.detection.match_detections(**given, iou=iou)
    np.testing.assert_array_equal(found.truth, naive(given, iou))
    assert found.num_missed == 60 - np.sum(found.matched)


def test_matches_in_small_blocks_are_the_same(rng, monkeypatch):
    given = real_scene(rng)
    whole = um.detection.match_detections(**given)
    for block in (1, 7, 100):
        monkeypatch.setattr(matching, "_BLOCK", block)
        parts = um.detection.match_detections(**given)
        for expected, value in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(value, expected)


def test_corners_give_the_same_matches(rng):
    given = real_scene(rng)
    known = um.detection.match_detections(**given)
    for name in ("boxes", "truth_boxes"):
        given[name] = np.c_[given[name][:, :2], given[name][:, :2] + given[name][:, 2:]]
    found = um.detection.match_detections(**given, box_format="xyxy")
    np.testing.assert_array_equal(found.truth, known.truth)
    np.testing.assert_allclose(found.iou, known.iou, rtol=1e-12)


def test_detections_of_high_scores_keep_their_matches_without_the_others(rng):
    given = real_scene(rng)
    whole = um.detection.match_detections(**given)
    kept = given["scores"] >= 0.6
    part = {
        name: values[kept]
        if name in ("boxes", "scores", "classes", "images")
        else values
        for name, values in given.items()
    }
    found = um.detection.match_detections(**part)
    np.testing.assert_array_equal(found.matched, whole.matched[kept])
    np.testing.assert_array_equal(found.iou, whole.iou[kept])
    assert found.num_missed > whole.num_missed


def test_order_of_images_and_of_unequal_detections_does_not_matter(rng):
    given = real_scene(rng)
    whole = um.detection.match_detections(**given)
    order, of_truth = rng.permutation(300), rng.permutation(60)
    moved = {
        name: values[of_truth if name.startswith("truth") else order]
        for name, values in given.items()
    }
    found = um.detection.match_detections(**moved)
    np.testing.assert_array_equal(found.matched, whole.matched[order])
    np.testing.assert_array_equal(
        np.where(found.truth >= 0, of_truth[found.truth], -1), whole.truth[order]
    )


def test_a_second_detection_of_an_object_is_wrong_and_of_a_crowd_left_out():
    given = {
        "boxes": [[0, 0, 4, 4]] * 2,
        "scores": [0.2, 0.8],
        "classes": [0, 0],
        "images": [0, 0],
        "truth_boxes": [[0, 0, 4, 8]],
        "truth_classes": [0],
        "truth_images": [0],
    }
    found = um.detection.match_detections(**given)
    assert found.matched.tolist() == [False, True]
    assert found.counted.tolist() == [True, True]
    assert found.iou.tolist() == [0, 0.5]
    crowd = um.detection.match_detections(**given, truth_crowds=[1])
    assert crowd.matched.tolist() == crowd.counted.tolist() == [False, False]
    assert crowd.iou.tolist() == [1, 1]  # The whole detection is inside the crowd.
    ignored = um.detection.match_detections(**given, truth_ignored=[True])
    assert ignored.counted.tolist() == [True, False]
    assert (found.num_missed, crowd.num_missed, ignored.num_missed) == (0, 0, 0)


def test_equal_boxes_overlap_wholly_although_overlaps_are_rounded(rng):
    boxes = rng.uniform(0, 1000, [200, 4])
    ids = np.arange(200)
    found = um.detection.match_detections(
        boxes, np.ones(200), ids, boxes, ids, ids, ids, iou=1
    )
    assert np.all(found.matched)
    assert np.any(found.iou < 1)  # The widths are differences of rounded sums.


def test_there_may_be_no_objects_or_no_detections():
    none = {"truth_boxes": [], "truth_classes": [], "truth_images": []}
    some = {"boxes": [[0, 0, 1, 1]], "scores": [1], "classes": ["a"], "images": ["x"]}
    found = um.detection.match_detections(**some, **none)
    assert found.matched.tolist() == [False]
    assert found.num_missed == 0
    none = {name: [] for name in some}
    true = {f"truth_{name}": value for name, value in some.items() if name != "scores"}
    found = um.detection.match_detections(**none, **true)
    assert found.matched.shape == (0,)
    assert found.num_missed == 1


def test_detection_ece_equals_a_loop_over_bins(rng):
    given = real_scene(rng)
    found = um.detection.match_detections(**given)
    value = um.ece(correct=found.matched, confidences=given["scores"], num_bins=25)
    expected = 0.0
    for low in range(25):
        inside = (given["scores"] > low / 25) & (given["scores"] <= (low + 1) / 25)
        if np.any(inside):
            gap = np.mean(found.matched[inside]) - np.mean(given["scores"][inside])
            expected += np.mean(inside) * abs(gap)
    assert value == pytest.approx(expected, abs=1e-12)


def mean_error_of_overlaps(scores, overlaps, classes):
    """Returns the LaECE of Kuzucu et al. (2024), by loops over classes and bins: the
    mean over classes of `sum_j n_j / n |mean score - precision * mean overlap|`.
    """
    errors = []
    for name in np.unique(classes):
        score, overlap = scores[classes == name], overlaps[classes == name]
        error = 0.0
        for j in range(25):
            inside = (score <= (j + 1) / 25) & ((score > j / 25) | (j == 0))
            if not np.any(inside):
                continue
            right = inside & (overlap > 0)
            precision = np.sum(right) / np.sum(inside)
            fit = np.mean(overlap[right]) if np.any(right) else 0.0
            gap = abs(np.mean(score[inside]) - precision * fit)
            error += np.sum(inside) / len(score) * gap
        errors.append(error)
    return np.mean(errors)


def test_localisation_aware_ece_equals_the_definition_with_matches_of_coco(rng):
    compared = 0
    for _ in range(20):
        results, truth = scene(rng)
        given = um.detection.read_coco(results, truth)
        # COCO's code would let boxes that do not overlap match at a threshold of 0.
        truths, ignored, _ = coco_matches(results, truth, 1e-9)
        right = (truths >= 0) & ~ignored
        objects = given["truth_classes"][~given["truth_crowds"]]
        overlaps = np.zeros(len(results))
        for i in np.flatnonzero(right):
            true = truth["annotations"][truths[i]]
            overlaps[i] = overlap(results[i]["bbox"], true["bbox"])
        kept = ~ignored & np.isin(given["classes"], objects)
        found = um.detection.match_detections(**given, iou=0)
        np.testing.assert_array_equal(found.counted, ~ignored)
        if not np.any(kept):
            continue
        value = um.ece(
            correct=(found.matched * found.iou)[kept],
            confidences=given["scores"][kept],
            num_bins=25,
            groups=given["classes"][kept],
        )
        expected = mean_error_of_overlaps(
            given["scores"][kept],
            overlaps[kept],
            given["classes"][kept],
        )
        assert np.mean(value.values) == pytest.approx(expected, abs=1e-12)
        compared += 1
    assert compared >= 10


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("boxes", [[0, 0, 1]], r"`boxes` must be of shape \[boxes, 4\]"),
        ("boxes", [[3, 3, 1, -1]], "sides >= 0; for corners pass"),
        ("truth_boxes", [[0, 0, np.nan, 1]], "`truth_boxes` must be finite"),
        ("boxes", [[0, 0, 1e200, 1]], r"`boxes` must hold numbers up to 1e\+150"),
        ("scores", [0.5, 0.5], r"`scores` must be of shape \[1\], one for each of"),
        ("scores", [np.inf], "`scores` must be finite"),
        ("classes", [None], "`classes` must hold one for each box"),
        ("images", [0.5], "`images` must hold strings, integers"),
        ("truth_images", [1, 2], r"`truth_images` must be of shape \[1\]"),
        ("iou", 1.5, r"`iou` must be .*\[0, 1\]"),
        ("truth_crowds", [2], "`truth_crowds` must be booleans, or 0 and 1"),
        ("truth_ignored", [0, 1], r"`truth_ignored` must be of shape \[1\]"),
        ("box_format", "cxcywh", "`box_format` must be one of 'xywh', 'xyxy'"),
    ],
)
def test_bad_arguments_are_refused(name, value, message):
    given = {
        "boxes": [[0, 0, 1, 1]],
        "scores": [0.5],
        "classes": ["a"],
        "truth_boxes": [[0, 0, 1, 1]],
        "truth_classes": ["a"],
        "images": [0],
        "truth_images": [0],
    }
    um.detection.match_detections(**given)
    with pytest.raises(ValueError, match=message):
        um.detection.match_detections(**{**given, name: value})


def test_corners_in_the_wrong_order_and_ids_of_two_types_are_refused():
    one = [[3, 3, 1, 9]], [0.5], [1], [[0, 0, 1, 1]], [1], [1], [1]
    with pytest.raises(ValueError, match="second corner is not smaller"):
        um.detection.match_detections(*one, box_format="xyxy")
    text = [[3, 3, 1, 9]], [0.5], ["1"], [[0, 0, 1, 1]], [1], [1], [1]
    with pytest.raises(TypeError, match="`classes` and `truth_classes` must both hold"):
        um.detection.match_detections(*text)


# Files.


def test_files_are_read_as_their_content(rng, tmp_path):
    results, truth = scene(rng)
    paths = tmp_path / "results.json", tmp_path / "truth.json"
    for path, content in zip(paths, (results, truth), strict=True):
        path.write_text(json.dumps(content), "utf-8")
    read = um.detection.read_coco(*paths)
    for name, value in um.detection.read_coco(results, truth).items():
        np.testing.assert_array_equal(read[name], value)
    given = um.detection.read_coco(str(paths[0]), truth)
    np.testing.assert_array_equal(given["boxes"], [row["bbox"] for row in results])
    with contextlib.redirect_stdout(io.StringIO()):
        true = coco.COCO(str(paths[1]))
        known = true.loadRes(str(paths[0]))
    rows = known.loadAnns(range(1, len(results) + 1))
    assert given["images"].tolist() == [row["image_id"] for row in rows]
    assert given["scores"].tolist() == [row["score"] for row in rows]
    areas = given["boxes"][:, 2] * given["boxes"][:, 3]
    np.testing.assert_array_equal(areas, [row["area"] for row in rows])
    names = [f"class {row['category_id']}" for row in results]
    assert given["classes"].tolist() == names


def test_categories_without_names_of_their_own_are_their_ids():
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 3, "name": "a"}, {"id": 4, "name": "a"}],
        "annotations": [{"image_id": 1, "category_id": 4, "bbox": [0, 0, 1, 1]}],
    }
    assert um.detection.read_coco([], truth)["truth_classes"].tolist() == [4]
    truth["categories"] = [{"id": 4}]
    assert um.detection.read_coco([], truth)["truth_classes"].tolist() == [4]


def test_annotations_of_other_images_are_left_out():
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "a"}],
        "annotations": [
            {"image_id": image, "category_id": 1, "bbox": [image, 0, 1, 1]}
            for image in (1, 2)
        ],
    }
    given = um.detection.read_coco([], truth)
    assert given["truth_boxes"].tolist() == [[1, 0, 1, 1]]
    assert um.detection.match_detections(**given).num_missed == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_id": 9}, r"only images that are in .*: 9 at \[0\]"),
        ({"category_id": 9}, r"only categories that are in .*: 9 at \[0\]"),
        ({"bbox": [1, 2, 3]}, r"`bbox` of 4 numbers. Received: \[1, 2, 3\] at \[0\]"),
        ({"score": "high"}, r"`score` of a number. Received: 'high' at \[0\]"),
    ],
)
def test_wrong_results_are_refused(change, message):
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": []}
    row = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 0.5}
    um.detection.read_coco([row], truth)
    with pytest.raises(ValueError, match=message):
        um.detection.read_coco([row | change], truth)
    (name,) = change
    del row[name]
    with pytest.raises(ValueError, match=f"`results` must hold `{name}` in every dict"):
        um.detection.read_coco([row], truth)


def test_files_that_are_no_coco_files_are_refused(tmp_path):
    truth = {"images": [], "categories": [], "annotations": []}
    path = tmp_path / "results.json"
    path.write_text("[", "utf-8")
    with pytest.raises(
        ValueError, match=r"`results` must be a JSON file.*results\.json"
    ):
        um.detection.read_coco(path, truth)
    with pytest.raises(ValueError, match="`results` must be a list of dicts"):
        um.detection.read_coco(truth, truth)
    with pytest.raises(ValueError, match="`truth` must be a dict with `images`"):
        um.detection.read_coco([], [])
    with pytest.raises(ValueError, match=r"`truth\['annotations'\]` must be a list"):
        um.detection.read_coco([], {"images": [], "categories": []})

"""Large batches of class-wise metrics on JAX and PyTorch are added up in blocks."""

from tests.keras.test_class_cells import (
    test_a_cell_has_room_for_more_rows_than_an_integer_of_count_and_sum,
    test_units_are_those_of_each_score,
    test_wrong_numbers_are_found,
)

__all__ = [
    "test_a_cell_has_room_for_more_rows_than_an_integer_of_count_and_sum",
    "test_units_are_those_of_each_score",
    "test_wrong_numbers_are_found",
]

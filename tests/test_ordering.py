from shoal.ordering import natural_order


def ordered(*names):
    return [names[i] for i in natural_order(names)]


def test_integers_are_ordered_by_value_and_then_by_text():
    assert ordered("10", "9", "007", "7", "-3") == ["-3", "007", "7", "9", "10"]


def test_one_name_that_is_no_integer_makes_all_of_them_text():
    assert ordered("10", "9", "x", "1.5") == ["1.5", "10", "9", "x"]


def test_digits_of_other_scripts_are_text():
    assert ordered("٣", "10", "9") == ["10", "9", "٣"]


def test_a_number_too_long_for_a_number_is_text():
    assert ordered("9" * 5000, "10", "9") == ["10", "9", "9" * 5000]

from tests.properties.table import PAGE, page_with_table


def test_the_page_shows_how_integer_ops_run() -> None:
    assert page_with_table(PAGE.read_text()) == PAGE.read_text(), "python -m tests.properties.table --write"

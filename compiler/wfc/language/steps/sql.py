from __future__ import annotations

from collections.abc import Iterator

from wfc.language.fields import ANYTHING, BINDINGS, NUMBER, SECONDS_COMPUTED, TEXT, Computed, OneOf
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc.language.values import Text
from wfc_runtime.contract import SqlResult


class Sql(Served):
    """Execute SQL on a SQLite file, or an operation on the rows of a model.

    All statements are one transaction. Write a parameter (`?` or `:name`) for each value and give the values in
    `params`. A `model` has a `table` and its `columns` (`type`, `primary`, `required`, `unique`, `default`, and `auto`:
    `uuid`, `created` or `updated`), and `op` selects the operation. The server opens the file if its operator lets it
    read it, and write it where the statements write; otherwise the agent does. A result has at most 1,000 rows.

    ```yaml
    - id: open-tasks
      type: sql
      path: tasks.db
      sql: SELECT name FROM tasks WHERE status = ? ORDER BY name LIMIT 20
      params: [open]
      output_to: tasks
    ```
    """

    kind = "sql"
    label = "a sql step"
    acts = True
    origin = ("a database", "the rows that {} reads are untrusted")
    writes_to = "path"
    result = SqlResult
    ONE_OF = ("sql", "model")

    engine = Field(OneOf(("sqlite",)), "The kind of database.", default="sqlite")
    path = Field(TEXT, "The file.", required=True, example="tasks.db")
    sql = Field(TEXT, "One or more statements.", example="SELECT count(*) AS n FROM tasks")
    params = Field(
        ANYTHING, "The values of the parameters: a list for `?`, an object for `:name`.", example=["open"]
    )
    init_sql = Field(TEXT, "Statements to execute before, such as CREATE TABLE IF NOT EXISTS.")
    model = Field(ANYTHING, "A table and its columns, instead of `sql`.")
    op = Field(TEXT, "With a model: `schema`, `insert`, `select`, `update`, `delete` or `upsert`.")
    data = Field(BINDINGS, "With a model: the values of a row.")
    where = Field(BINDINGS, 'With a model: what the rows have, such as `{status: open, priority: {">": 4}}`.')
    order = Field(ANYTHING, "With a model: the order of the rows, such as `[priority:desc]`.")
    limit = Field(Computed(NUMBER), "With a model: the maximum number of rows.")
    offset = Field(Computed(NUMBER), "With a model: the number of rows to leave out.")
    columns = Field(ANYTHING, "With a model: the columns to return.")
    conflict = Field(ANYTHING, "With `upsert`: the columns that identify a row; by default the primary key.")
    timeout = Field(SECONDS_COMPUTED, "The time limit in seconds.", default=30)

    def files(self) -> Iterator[Text]:
        """None: the database orders concurrent writers itself."""
        return iter(())

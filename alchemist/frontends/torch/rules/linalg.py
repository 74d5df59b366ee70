"""Linear algebra by elimination, column after column: for matrices of a few dozen rows, each of which needs several ops."""

from __future__ import annotations

import functools

import torch

from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.registry import recipe

MOST_ROWS = 64
"""Above, the program would be thousands of statements."""


def _rows(matrix: torch.Tensor) -> int:
    rows: int = matrix.shape[-1]
    if rows > MOST_ROWS:
        raise Unsupported(f"a matrix of {rows} rows: elimination is written out, for up to {MOST_ROWS}")
    return rows


def _whole(matrix: torch.Tensor) -> torch.Tensor:
    """Info of a factorisation: nothing is looked for."""
    return torch.zeros(matrix.shape[:-2], dtype=torch.int32)


def _eye(matrix: torch.Tensor) -> torch.Tensor:
    return torch.eye(matrix.shape[-1], dtype=matrix.dtype).expand(matrix.shape)


@recipe("aten.linalg_cholesky_ex.default")
def cholesky_ex(matrix: torch.Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Cholesky decomposition: subtracts each column times its transpose from the remaining matrix. NaN unless positive definite."""
    rows, left, columns = _rows(matrix), matrix, []
    below = torch.ones(rows, rows, dtype=matrix.dtype).tril()
    for j in range(rows):
        column = left[..., :, j : j + 1] * torch.rsqrt(left[..., j : j + 1, j : j + 1]) * below[:, j : j + 1]
        columns.append(column)
        if j + 1 < rows:
            left = left - column * column.mT
    factor = torch.cat(columns, -1)
    return (factor.mT if upper else factor), _whole(matrix)


@recipe("aten.cholesky.default")
def cholesky(matrix: torch.Tensor, upper: bool = False) -> torch.Tensor:
    return cholesky_ex(matrix, upper=upper)[0]


@recipe("aten.linalg_solve_triangular.default")
def solve_triangular(matrix: torch.Tensor, right_side: torch.Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> torch.Tensor:
    """Substitution: subtracts each row of the solution from the rows after it."""
    if not left:
        return solve_triangular(matrix.mT, right_side.mT, upper=not upper, unitriangular=unitriangular).mT
    rows = _rows(matrix)
    dims = torch.broadcast_shapes(matrix.shape[:-2], right_side.shape[:-2])
    matrix, rest = matrix.expand(*dims, *matrix.shape[-2:]), right_side.expand(*dims, *right_side.shape[-2:])
    rows_found: list[torch.Tensor] = []
    for j in reversed(range(rows)) if upper else range(rows):
        row = rest[..., :1, :] if not upper else rest[..., -1:, :]
        if not unitriangular:
            row = row / matrix[..., j : j + 1, j : j + 1]
        rows_found.append(row)
        if len(rows_found) < rows:
            below = slice(0, j) if upper else slice(j + 1, rows)
            rest = (rest[..., :-1, :] if upper else rest[..., 1:, :]) - matrix[..., below, j : j + 1] * row
    return torch.cat(rows_found[::-1] if upper else rows_found, -2)


@recipe("aten.triangular_solve.default")
def triangular_solve(
    right_side: torch.Tensor, matrix: torch.Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    if transpose:
        return solve_triangular(matrix.mT, right_side, upper=not upper, unitriangular=unitriangular), matrix
    return solve_triangular(matrix, right_side, upper=upper, unitriangular=unitriangular), matrix


@recipe("aten.cholesky_solve.default")
def cholesky_solve(right_side: torch.Tensor, factor: torch.Tensor, upper: bool = False) -> torch.Tensor:
    lower = factor.mT if upper else factor
    return solve_triangular(lower.mT, solve_triangular(lower, right_side, upper=False), upper=True)


@recipe("aten.cholesky_inverse.default")
def cholesky_inverse(factor: torch.Tensor, upper: bool = False) -> torch.Tensor:
    return cholesky_solve(_eye(factor), factor, upper)


class _Elimination:
    """Gauss-Jordan elimination of a matrix and its right side. Each step's pivot is the unused row with the largest value in the column.

    rows: of the pivots, one a column. pivots: the values [..., 1, 1].
    """

    def __init__(self, matrix: torch.Tensor, right: torch.Tensor | None) -> None:
        count = _rows(matrix)
        dims = matrix.shape[:-2]
        if right is not None:
            dims = torch.broadcast_shapes(dims, right.shape[:-2])
            matrix = torch.cat([matrix.expand(*dims, *matrix.shape[-2:]), right.expand(*dims, *right.shape[-2:])], -1)
        numbers = torch.arange(count).unsqueeze(1)
        used = None
        self.rows: list[torch.Tensor] = []
        self.pivots: list[torch.Tensor] = []
        for j in range(count):  # columns that are done stay where they are: to cut them off would be a product for each step
            column = matrix[..., :, j : j + 1]
            size = torch.abs(column)
            if used is not None:
                size = torch.where(used, -1.0, size)
            place = torch.argmax(size, -2, keepdim=True)
            here = numbers == place
            row = torch.gather(matrix, -2, place.expand(*dims, 1, matrix.shape[-1]))
            pivot = row[..., j : j + 1]
            if right is not None or j + 1 < count:
                row = row / pivot
                matrix = torch.where(here, row, matrix - column * row)
            used = here if used is None else used | here
            self.rows.append(place)
            self.pivots.append(pivot)
        self.left = matrix[..., :, count:]

    def solution(self) -> torch.Tensor:
        """The right side's rows in the order of the columns."""
        places = torch.cat(self.rows, -2)
        return torch.gather(self.left, -2, places.expand(self.left.shape))

    def sign(self) -> torch.Tensor:
        """The sign of the row permutation: -1 to the number of inversions."""
        places = torch.cat(self.rows, -2).to(self.left.dtype)
        inversions = (places > places.mT).to(places.dtype).triu(1).sum((-2, -1))
        return 1.0 - 2.0 * torch.remainder(inversions, 2.0)


@recipe("aten._linalg_solve_ex.default")
def solve_ex(
    matrix: torch.Tensor, right_side: torch.Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The factors are not computed (the results repeat the matrix) and must not be used."""
    if not left:
        return solve_ex(matrix.mT, right_side.mT)[0].mT, matrix, matrix, _whole(matrix)
    vector = right_side.dim() == 1 or right_side.shape == matrix.shape[:-1]
    right = right_side.unsqueeze(-1) if vector else right_side
    solution = _Elimination(matrix, right).solution()
    return (solution.squeeze(-1) if vector else solution), matrix, matrix, _whole(matrix)


@recipe("aten.linalg_inv_ex.default")
def inv_ex(matrix: torch.Tensor, *, check_errors: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    return _Elimination(matrix, _eye(matrix)).solution(), _whole(matrix)


@recipe("aten._linalg_det.default")
def det(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    elimination = _Elimination(matrix, None)
    product = functools.reduce(torch.mul, elimination.pivots)
    return product[..., 0, 0] * elimination.sign(), matrix, matrix


@recipe("aten._linalg_slogdet.default")
def slogdet(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    elimination = _Elimination(matrix, None)
    pivots = torch.cat(elimination.pivots, -2)[..., 0]
    signs = functools.reduce(torch.mul, [torch.sign(pivot)[..., 0, 0] for pivot in elimination.pivots])
    return signs * elimination.sign(), torch.log(torch.abs(pivots)).sum(-1), matrix, matrix

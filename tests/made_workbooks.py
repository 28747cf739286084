"""Workbooks as spreadsheet programs write them, as far as a reader looks."""

from __future__ import annotations

import zipfile


def workbook(path, sheets, merged=()):
    """A workbook as spreadsheet programs write it, as far as a reader looks: sheets of texts and numbers, each with these cells merged."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    many = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="r{n}" Type="{many}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, 1 + len(sheets))
    )
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w") as packed:
        start = f'<Relationship Id="r0" Type="{many}/officeDocument" Target="xl/workbook.xml"/>'
        packed.writestr("_rels/.rels", f'<Relationships xmlns="{package}/relationships">{start}</Relationships>')
        packed.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
        packed.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{many}"><sheets>{names}</sheets></workbook>'
        )
        packed.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships">{links}</Relationships>'
        )
        for n, rows in enumerate(sheets.values(), 1):
            cells = "".join(f"<row>{''.join(map(cell_xml, row))}</row>" for row in rows)
            joined = "".join(f'<mergeCell ref="{cell}"/>' for cell in merged)
            data = f"<sheetData>{cells}</sheetData><mergeCells>{joined}</mergeCells>"
            packed.writestr(f"xl/worksheets/sheet{n}.xml", f'<worksheet xmlns="{main}">{data}</worksheet>')
    return path


def cell_xml(value):
    return (
        f"<c><v>{value}</v></c>" if isinstance(value, int | float) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    )

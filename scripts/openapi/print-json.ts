const COLUMNS = 100

/** JSON as the formatter would leave it: lists of plain values on one line where they fit. */
export function printJson(value: unknown, indent = '', before = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    const items = value.map((item) => printJson(item, inner))
    const line = `[${items.join(', ')}]`
    const isPlain = value.every((item) => typeof item !== 'object' || isEmpty(item))
    // The comma behind it counts as well.
    if (isPlain && indent.length + before + line.length < COLUMNS) return line
    return `[\n${items.map((item) => inner + item).join(',\n')}\n${indent}]`
  }
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  if (fields.length === 0) return '{}'
  const lines = fields.map(([name, field]) => {
    const head = `${JSON.stringify(name)}: `
    return head + printJson(field, inner, head.length)
  })
  return `{\n${lines.map((line) => inner + line).join(',\n')}\n${indent}}`
}

const isEmpty = (value: object | null): boolean => value === null || Object.keys(value).length === 0

import { grouped } from '../terminal/amounts.ts'
import { tableLines } from '../terminal/table.ts'

/** `max_requests  100`: in the API's own names, a line each. */
export function settingLines(settings: object): readonly string[] {
  const rows = Object.entries(settings).map(([name, value]) => [
    name,
    typeof value === 'number' ? grouped(value) : written(value),
  ])
  return tableLines([{ title: '' }, { title: '' }], rows).slice(1)
}

/** A limit as `pushpop config` takes it. */
const written = (value: unknown): string => {
  if (value === null) return 'none'
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, one]) => `${name}=${one}`)
    .join(',')
}

import type { Bound, Row } from '../rows.ts'
import { reaches } from '../rows.ts'

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (size >= 1000) return Math.round(value).toLocaleString('en')
  if (size >= 100) return value.toFixed(0)
  if (size >= 10) return value.toFixed(1)
  return String(Number(value.toFixed(3)))
}

export function formatBound(bound: Bound | undefined): string {
  if (bound === undefined) return ''
  return 'atLeast' in bound ? `≥ ${formatNumber(bound.atLeast)}` : `≤ ${formatNumber(bound.atMost)}`
}

export function formatVerdict({ value, bar, aim, pass }: Row): string {
  if (bar !== undefined && !pass) return 'FAIL'
  if (aim !== undefined && reaches(value, aim)) return 'aim'
  return bar === undefined ? '' : 'pass'
}

/** Rows under the name of their bar, in the order in which they came. */
export function byName(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.name)
    if (group === undefined) groups.set(row.name, [row])
    else group.push(row)
  }
  return groups
}

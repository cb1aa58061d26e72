import { showMatrix } from './crossings.ts'
import type { PoolResult } from './pool.ts'

/** How often everything happened: proof that a run covered what it claims to. */
export class Statistics {
  readonly counts = new Map<string, number>()

  count(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by)
  }

  max(name: string, value: number): void {
    this.counts.set(name, Math.max(this.counts.get(name) ?? 0, value))
  }

  add(other: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(other)) {
      if (name.startsWith('max ')) this.max(name, count)
      else this.count(name, count)
    }
  }

  get(name: string): number {
    return this.counts.get(name) ?? 0
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** The end of a run, as a page to read. */
export function summary(result: PoolResult): string {
  const { statistics, failures, seconds, seeds } = result
  const lines: string[] = []
  const counts = Object.entries(statistics.toJSON())
  for (const [title, prefix] of sections) {
    const some = counts.filter(([name]) => name.startsWith(prefix))
    if (some.length === 0) continue
    lines.push('', title)
    for (const [name, count] of some) {
      lines.push(`  ${name.slice(prefix.length).padEnd(52)} ${String(count).padStart(10)}`)
    }
  }
  const shown = [...sections.map(([, prefix]) => prefix), 'met ']
  const others = counts.filter(([name]) => !shown.some((prefix) => name.startsWith(prefix)))
  lines.push('', ...showMatrix(statistics))
  lines.push('')
  for (const [name, count] of others) lines.push(`${name.padEnd(54)} ${String(count).padStart(10)}`)
  const rate = (seeds / seconds).toFixed(1)
  lines.push('', `${seeds} seeds in ${seconds.toFixed(1)} s: ${rate} seeds/s`)
  for (const { seed, rule, explanation } of failures) {
    lines.push(`seed ${seed} VIOLATES ${rule}: ${explanation.slice(0, 300)}`)
  }
  lines.push(failures.length === 0 ? 'Every invariant holds.' : `${failures.length} seeds failed.`)
  return lines.join('\n')
}

const sections: readonly (readonly [title: string, prefix: string])[] = [
  ['Operations by outcome', 'operation '],
  ['Faults injected', 'fault '],
  ['Refused by the store', 'refused '],
  ['Paths taken', 'path '],
  ['What became of the items', 'fate '],
  ['Largest', 'max '],
]

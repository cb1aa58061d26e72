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

import type { Row } from './table.ts'

/**
 * One item takes so many write units a second. A request is admitted while the item's earlier
 * writes are paid off, whatever it will cost itself; then time pays for it. With a burst of 0 the
 * writes of an item are spread evenly, with one of 1,000 a second's worth may come at once.
 */
export interface ThrottleOptions {
  readonly writeUnitsPerSecond: number
  readonly burstUnits: number
}

export class ItemThrottle {
  private readonly msPerUnit: number
  private readonly burstMs: number
  private readonly nowMs: () => number

  constructor(options: ThrottleOptions, nowMs: () => number) {
    this.msPerUnit = 1000 / options.writeUnitsPerSecond
    this.burstMs = options.burstUnits * this.msPerUnit
    this.nowMs = nowMs
  }

  admits(row: Row | undefined): boolean {
    return row === undefined || row.paidUpAtMs - this.burstMs <= this.nowMs()
  }

  charge(row: Row | undefined, units: number): void {
    if (row === undefined) return
    row.paidUpAtMs = Math.max(row.paidUpAtMs, this.nowMs()) + units * this.msPerUnit
  }
}

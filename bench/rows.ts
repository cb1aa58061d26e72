/** One line of the table. */
export type Row = {
  /** The bar it belongs to, as the issue names it. */
  readonly name: string
  readonly metric: string
  readonly value: number
  /** Absent: measured for comparison only. */
  readonly bar?: Bound
  readonly aim?: Bound
  readonly pass?: boolean
  /** What was measured. Rows with a column are shown as a matrix. */
  readonly column?: string
  /** Its place in the chart, if it has one. */
  readonly point?: Point
}

export type Bound = { readonly atLeast: number } | { readonly atMost: number }

export type Algorithm = 'bare' | 'pushpop' | 'sources' | 'message'
export type Point = {
  readonly chart: 'throughput' | 'units'
  readonly algorithm: Algorithm
  readonly group: string
}

export const atLeast = (limit: number): Bound => ({ atLeast: limit })
export const atMost = (limit: number): Bound => ({ atMost: limit })

export const reaches = (value: number, bound: Bound): boolean =>
  'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost

type Options = { readonly aim?: Bound; readonly column?: string; readonly point?: Point }

/** Rows of one scenario: `bar` makes one that can fail, `info` one that cannot, aim or not. */
export function rowsOf(name: string) {
  return {
    bar: (metric: string, value: number, bar: Bound, options: Options = {}): Row => ({
      name,
      metric,
      value,
      bar,
      pass: reaches(value, bar),
      ...options,
    }),
    info: (metric: string, value: number, options: Options = {}): Row => ({
      name,
      metric,
      value,
      ...options,
    }),
  }
}

import type { Focus } from './focus.ts'

/** One deliberate fault: a condition of the shipped code that is changed, and what must notice it. */
export type Mutant = {
  readonly name: string
  readonly breaks: Breaks
  readonly edits: readonly Edit[]
  /** The cheapest first; the first that fails has killed it. */
  readonly killers: readonly Killer[]
}

/**
 * What the fault endangers: a rule or a guarantee of docs/architecture.md by its number, or, where it
 * endangers none of them, another promise to callers, a bound, or what a call costs, in a few words.
 */
export type Breaks =
  | { readonly kind: 'rule' | 'guarantee'; readonly number: number }
  | { readonly kind: 'promise' | 'bound' | 'cost'; readonly what: string }

export type Edit = {
  /**
   * The function, constant, class or `Class.member` that the condition stands in. Where several files have one
   * of that name, the end of the file's path goes before it: `plan-pop/choose`.
   */
  readonly declaration: string
  /**
   * Occurs exactly once in the declaration, however it is formatted: white space and trailing commas do not
   * count. A mutant that has lost its place fails the run.
   */
  readonly find: string
  readonly replace: string
}

export type Killer =
  /** Seeds of the simulation, one after the other until one fails; `focus` picks the worlds. */
  | { readonly kind: 'simulation'; readonly seeds: number; readonly focus?: Focus }
  /** A test file; with `only`, the tests whose full names match that pattern. */
  | { readonly kind: 'test'; readonly file: string; readonly only?: string }

/** A mutant as a row: what it breaks, its one edit or a list of them, and then its killers. */
export const mutant = (
  name: string,
  breaks: Breaks,
  edits: Edit | readonly Edit[],
  ...killers: readonly Killer[]
): Mutant => ({ name, breaks, edits: [edits].flat(), killers })

export const rule = (number: number): Breaks => ({ kind: 'rule', number })
export const guarantee = (number: number): Breaks => ({ kind: 'guarantee', number })
export const promise = (what: string): Breaks => ({ kind: 'promise', what })
export const bound = (what: string): Breaks => ({ kind: 'bound', what })
export const cost = (what: string): Breaks => ({ kind: 'cost', what })

/** In this declaration, this code in the place of that. */
export const within = (declaration: string, find: string, replace: string): Edit => ({
  declaration,
  find,
  replace,
})

export const simulation = (seeds: number, focus?: Focus): Killer => ({
  kind: 'simulation',
  seeds,
  ...(focus !== undefined && { focus }),
})

export const test = (file: string, only?: string): Killer => ({
  kind: 'test',
  file,
  ...(only !== undefined && { only }),
})

export const describeBreaks = (breaks: Breaks): string =>
  'number' in breaks ? `${breaks.kind} ${breaks.number}` : `${breaks.kind}: ${breaks.what}`

export function describeKiller(killer: Killer): string {
  switch (killer.kind) {
    case 'simulation':
      return `simulation ${killer.focus ?? 'any'} ${killer.seeds}`
    case 'test':
      return killer.only === undefined ? killer.file : `${killer.file} "${killer.only}"`
    default:
      return killer satisfies never
  }
}

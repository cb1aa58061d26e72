import { compilePattern } from '../events/pattern.ts'
import { isObject } from '../template/assembly.ts'
import type { SqsRecord } from './sqs-record.ts'

type Pattern = Readonly<Record<string, unknown>>

/** A pattern of fields looks into a body of JSON; a pattern of values compares the body as text. */
export function messageFilter(patterns: readonly Pattern[]): (record: SqsRecord) => boolean {
  const compiled = patterns.map((pattern) => ({
    fits: compilePattern(pattern),
    readsJson: isObject(pattern.body),
  }))
  return (record) =>
    compiled.length === 0 ||
    compiled.some(({ fits, readsJson }) =>
      fits(readsJson ? { ...record, body: jsonOf(record.body) } : record),
    )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// What the doctor can find, and how it says so.

import { counted, timeText } from '../text.ts'

export type Finding =
  /** The record contradicts itself. */
  | { readonly kind: 'record'; readonly sentence: string }
  /** The record says that an item is there, and nothing has it. */
  | {
      readonly kind: 'missing-items'
      readonly priority: number
      readonly from: number
      readonly to: number
    }
  /** Scheduled items whose batch is not there, or not all of it. `due` in seconds. */
  | {
      readonly kind: 'missing-scheduled'
      readonly batch: string
      readonly priority: number
      readonly due: number
      readonly items: number
    }
  /** A segment that is said to be in S3 has no object there. */
  | {
      readonly kind: 'missing-object'
      readonly priority: number
      readonly segment: number
      readonly key: string
    }
  /** Nothing refers to it. `repairable`: nothing can ever ask for it again, so it may be deleted. */
  | {
      readonly kind: 'stray-rows' | 'stray-object' | 'stray-batch'
      /** A partition of the table, or an object. */
      readonly at: string
      readonly why: string
      readonly repairable: boolean
    }

export type Stray = Extract<Finding, { kind: `stray-${string}` }>

export const isStray = (finding: Finding): finding is Stray => finding.kind.startsWith('stray-')

export const ofRecord = (sentence: string): Finding => ({ kind: 'record', sentence })

export function sentenceOf(finding: Finding): string {
  switch (finding.kind) {
    case 'record':
      return `The record contradicts itself: ${finding.sentence}`
    case 'missing-items': {
      const { priority, from, to } = finding
      const which = to - from === 1 ? `Item ${from}` : `Items ${from} to ${to - 1}`
      return `${which} of priority ${priority} cannot be found where the record says`
    }
    case 'missing-scheduled': {
      const { items, priority, due, batch } = finding
      const which = `${counted(items, 'scheduled item')} of priority ${priority}`
      return `${which}, due at ${timeText(1_000 * due)}, cannot be found in their batch ${batch}`
    }
    case 'missing-object':
      return `Segment ${finding.segment} of priority ${finding.priority} has no object ${finding.key}`
    case 'stray-rows':
      return `Stray rows ${finding.at}: ${finding.why}`
    case 'stray-object':
      return `Stray object ${finding.at}: ${finding.why}`
    case 'stray-batch':
      return `Stray batch ${finding.at}: ${finding.why}`
    default:
      return finding satisfies never
  }
}

import type { Expression } from '../../foundation/expression.ts'
import type { QueueRecord } from '../core/record.ts'
import { recordUpdate } from './record-update.ts'

/** Nothing is free, as long as nothing was appended and nothing came back since the record was seen. */
export function dryUpdate(seen: QueueRecord): ReturnType<Expression['build']> {
  const update = recordUpdate()
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(`a=${update.value(seen.appends)}`)
  update.condition(`g=${update.value(seen.returns)}`)
  update.set('dry', 'y')
  return update.build()
}

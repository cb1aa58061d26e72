import type { ByIdVerbs } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { moveItems } from './move-items.ts'
import { redrive } from './redrive.ts'

export const movingVerbs = (engine: Engine): Pick<ByIdVerbs, 'move' | 'redrive'> => ({
  move: (queue, request) => moveItems(engine, queue, request),
  redrive: (queue, request) => redrive(engine, queue, request),
})

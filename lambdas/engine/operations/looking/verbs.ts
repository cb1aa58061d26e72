import type { Queues } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { browse } from './browse.ts'
import { inspect } from './inspect.ts'
import { list } from './list.ts'

export const lookingVerbs = (engine: Engine): Pick<Queues, 'inspect' | 'browse' | 'list'> => ({
  inspect: (queue, request) => inspect(engine, queue, request),
  browse: (queue, request) => browse(engine, queue, request),
  list: (request) => list(engine, request),
})

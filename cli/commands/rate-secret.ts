// `rate-secret`: the secret that signs tickets, in the table itself. It is never shown.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  createTicketSecrets,
  type SecretsChanged,
  type TicketSecrets,
  type TicketSecretVerbs,
} from '../../rate/secrets.ts'
import { type Context, command, flag } from '../command.ts'
import { type ExitCode, exitCodes, Failure, wrongUsage } from '../failure.ts'
import { awsOf, placeOf } from '../target/place.ts'
import { checkAskable, confirm, yes } from '../terminal.ts'
import { counted, isoTime } from '../text.ts'

const options = {
  yes: flag('with forget: do not ask; needed where there is no terminal'),
} as const

export const rateSecret = command({
  name: 'rate-secret',
  summary: 'Changes the secret that signs the tickets of rate limits',
  words: [{ name: 'show|rotate|forget', kind: 'text', optional: true }],
  options,
  notes: [
    'Needs --table and --bucket. rotate makes a new secret, which starts to sign ten minutes later,\n' +
      'when every process has read it. Tickets of the last three before it stay good until they end.',
    'forget is for a secret that has leaked, once another signs: whatever the former ones have\n' +
      'signed is void within five minutes. The secrets themselves are never shown.',
  ],
  examples: [
    'pushpop rate-secret rotate --table T --bucket B',
    'pushpop rate-secret forget --table T --bucket B',
  ],
  async run(context): Promise<ExitCode> {
    const { given, words, io } = context
    const [verb = 'show'] = words
    if (verb !== 'show' && verb !== 'rotate' && verb !== 'forget') {
      throw wrongUsage(
        `Cannot use rate-secret because ${JSON.stringify(verb)} is none of show, rotate and forget`,
      )
    }
    if (given.yes && verb !== 'forget') {
      throw wrongUsage(`Cannot ${verb} the secret because --yes goes with forget, not with ${verb}`)
    }
    const place = placeOf(given, io.env)
    if (place.kind !== 'store') {
      throw wrongUsage('The secret is in the table itself: give --table and --bucket')
    }
    if (verb === 'forget' && !given.yes) {
      checkAskable(io, 'forget')
      context.tell('This voids every ticket that a former secret signed.')
      await confirm(context, { ...yes, undone: 'Nothing was forgotten' })
    }
    const dynamodb = new DynamoDBClient({ ...awsOf(given), maxAttempts: 1 })
    try {
      const secrets = createTicketSecrets({ tableName: place.table, dynamodb })
      if (verb === 'show') return await show(context, await secrets.read(), secrets)
      const change = await (verb === 'rotate' ? secrets.rotate() : secrets.forgetFormer())
      return await show(context, settledOf(verb, change), secrets)
    } finally {
      dynamodb.destroy()
    }
  },
})

type Run = Context<typeof options>

function settledOf(verb: string, change: SecretsChanged): TicketSecrets | undefined {
  switch (change.kind) {
    case 'changed':
      return change.secrets
    case 'none':
      return undefined
    case 'settling':
      throw new Failure(
        exitCodes.refused,
        `Cannot ${verb} because the last change takes effect at ${timeOf(change.untilMs)}; try again then`,
        { code: 'SETTLING' },
      )
    default:
      return change satisfies never
  }
}

async function show(
  { isJson, print, tell }: Run,
  secrets: TicketSecrets | undefined,
  { nowMs }: Pick<TicketSecretVerbs, 'nowMs'>,
): Promise<ExitCode> {
  if (secrets === undefined) {
    if (isJson) await print('null')
    else tell('No ticket has been signed here yet; the first makes the secret.')
    return exitCodes.nothingThere
  }
  const { signsFromMs, former } = secrets
  const isSettled = nowMs() >= signsFromMs
  if (isJson) {
    const from = signsFromMs === 0 ? null : signsFromMs / 1_000
    await print(JSON.stringify({ signs_from: from, settled: isSettled, former: former.length }))
  } else {
    tell(isSettled ? 'One secret signs.' : `A new secret signs from ${timeOf(signsFromMs)} on.`)
    if (former.length > 0) {
      tell(`Tickets of ${counted(former.length, 'secret')} before it are good until they end.`)
    }
  }
  return exitCodes.done
}

const timeOf = (ms: number): string => isoTime(ms / 1_000)

import { type Mutant, mutant, test } from './mutant.ts'

const client = 'aws/lean-client.ts'
const credentials = 'aws/signing.ts'
const endpoint = 'aws/signing.ts'
const signature = 'aws/signing.ts'
const signedTest = 'test/foundation/lean/signed-on-the-wire.test.ts'
const signatureTest = 'test/foundation/lean/signature.test.ts'
const answersTest = 'test/foundation/lean/unkind-answers.test.ts'
const endpointTest = 'test/foundation/lean/endpoint.test.ts'
const requestsTest = 'test/foundation/lean/same-requests.test.ts'
const transactTest = 'test/engine/transact-clients.test.ts'
const rule = '0034 the lean client does what the SDK does'

/** What the lean client signs, whom it asks, and what it says of a request that failed. */
// biome-ignore format: a mutant is a row
export const leanMutants: readonly Mutant[] = [
  mutant('lean-signs-for-one-region', rule,
    [client, 'new Signer(endpoint.region, host, path)', "new Signer('us-east-1', host, path)"],
    test(signedTest)),
  mutant('lean-signs-another-host', rule,
    [client, 'new Signer(endpoint.region, host, path)', "new Signer(endpoint.region, 'x', path)"],
    test(signedTest)),
  mutant('lean-signs-another-path', rule,
    [client, 'new Signer(endpoint.region, host, path)', "new Signer(endpoint.region, host, '/')"],
    test(signedTest)),
  mutant('lean-sends-to-one-region', rule,
    [client, 'endpointOf(region, process.env,', "endpointOf('us-east-1', process.env,"],
    test(signedTest)),
  mutant('lean-path-without-its-end', rule,
    [client, "pathname.endsWith('/') ?", 'true ?'], test(signedTest)),
  mutant('lean-secret-from-the-wrong-variable', rule,
    [credentials, 'AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN',
     'AWS_ACCESS_KEY_ID: secretAccessKey, AWS_SESSION_TOKEN'], test(signedTest)),
  mutant('lean-key-of-another-day', rule,
    [signature, 'known?.day === day &&', 'known !== undefined &&'], test(signatureTest)),
  mutant('lean-key-of-another-secret', rule,
    [signature, '&& known.secret === secret', ''], test(signatureTest)),
  mutant('lean-empty-token-sent', rule,
    [signature, '...(sessionToken &&', '...(sessionToken !== undefined &&'],
    test(answersTest, 'session token')),
  mutant('lean-skew-of-minutes-not-corrected', rule,
    [client, 'SKEW_MS = 240_000', 'SKEW_MS = 1_140_000'], test(answersTest, 'no more than 6')),
  mutant('lean-future-not-corrected', rule,
    [client, "'RequestInTheFuture',", ''], test(answersTest, 'no more than 6')),
  mutant('lean-believes-any-date', '0034 one bad date does not end the client',
    [client, '&& storeMs < YEAR_10000_MS', ''], test(answersTest, 'no signature can have')),
  mutant('lean-copy-with-another-token', '0008 a repeated transaction is the same',
    [[client, 'const body = beforeSending(() => encode(operation, command.input))', ''],
     [client, 'const credentials = await this.#credentials.get()',
      `const body = encode(operation, command.input)
const credentials = await this.#credentials.get()`]],
    test(requestsTest, 'a transaction')),
  mutant('lean-connections-left-open', rule,
    [client, 'this.#handler.destroy?.()', ''], test(answersTest, 'destroyed')),
  mutant('lean-errors-not-known-as-its-own', '0002 a lost answer is never guessed',
    [client, 'Object.assign(error, { $metadata: {} })', ''], test(transactTest)),
  mutant('lean-unmade-taken-for-unknown', '0034 what was not sent changed nothing',
    [client, 'throw new RequestNotMadeError(error as Error)', 'throw error'],
    test(answersTest, 'cannot be made')),
  mutant('lean-waits-for-a-provider-without-end', '0034 nothing is waited for without end',
    [credentials, 'await withinDeadline(PROVIDER_TIMEOUT_MS, () => this.#ask())',
     'await this.#ask()'], test(answersTest, 'without end')),
  mutant('lean-good-credentials-wait-for-new-ones', '0034 what is good is used',
    [credentials, 'kept === undefined || leftMs <= 0', 'true'], test(answersTest, 'still good')),
  mutant('lean-late-credentials-in-the-place-of-newer', '0034 what is good is used',
    [credentials, 'question > this.#answered', 'true'], test(answersTest, 'come late')),
  mutant('lean-credentials-without-keys', '0034 what was not sent changed nothing',
    [credentials, '!accessKeyId || !secretAccessKey', 'given === null'],
    test(answersTest, 'of a provider that')),
  mutant('lean-any-option', 'no option is ignored in silence',
    [client, 'refuseUnknown(options, names)', ''], test(endpointTest, 'misspelt')),
  mutant('lean-fips-dropped', '0034 it refuses what it cannot do',
    [endpoint, "if (fips || dualStack) throw cannot('an endpoint", "if (dualStack) throw cannot('an endpoint"],
    test(endpointTest, 'FIPS')),
  mutant('lean-any-protocol', '0034 it refuses what it cannot do',
    [endpoint, '&& /^https?:$/.test(url.protocol)', ''], test(endpointTest, 'no URL of http')),
]

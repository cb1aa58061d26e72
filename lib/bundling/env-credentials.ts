// Stands in for `@aws-sdk/credential-provider-node` in the bundles. A Lambda finds its credentials
// in its environment; the SDK's chain (profiles, SSO, web identity, metadata servers) is 131 KB
// and 15 ms of every cold start that ends up looking in the same place.

type Credentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

export const defaultProvider = () => async (): Promise<Credentials> => {
  const accessKeyId = process.env.AWS_ACCESS_KEY_ID
  const secretAccessKey = process.env.AWS_SECRET_ACCESS_KEY
  const sessionToken = process.env.AWS_SESSION_TOKEN
  if (!accessKeyId || !secretAccessKey) {
    throw new Error(
      'Cannot sign requests because AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not in the environment',
    )
  }
  return { accessKeyId, secretAccessKey, sessionToken }
}

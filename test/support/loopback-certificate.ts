// For TLS between two sockets of a test on this machine. It protects nothing.

export const loopbackKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgICObUzSwuaIHelLT
FciiepHKvw4ylcAaY3qiCm5cupmhRANCAASVq7uFlgJOZaluxOBET5i6Ci90s7Ql
v9NcLtYVApuKPf0xzncRJkjXq7yBsfiKdlxbOHh3Cq7C9WOR1BZ7ukdg
-----END PRIVATE KEY-----
`

/** Of 127.0.0.1 and localhost, signed by itself, from 2020 to 2120. */
export const loopbackCertificate = `-----BEGIN CERTIFICATE-----
MIIBZTCCAQugAwIBAgIBATAKBggqhkjOPQQDAjATMREwDwYDVQQDDAhsb29wYmFj
azAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEzERMA8GA1UEAwwI
bG9vcGJhY2swWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASVq7uFlgJOZaluxOBE
T5i6Ci90s7Qlv9NcLtYVApuKPf0xzncRJkjXq7yBsfiKdlxbOHh3Cq7C9WOR1BZ7
ukdgo04wTDAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGHBH8AAAGCCWxvY2Fs
aG9zdDAdBgNVHQ4EFgQUVI2T5KD/x2GMuzxUzlg4Kp3pCUkwCgYIKoZIzj0EAwID
SAAwRQIhAPPhtkHnrQyy1R0zWbc3nFoXmlo6jidnm1pxHlIm2VZXAiArRMFG/KhF
Dts447qwXDDy3WveFwcBcRyyot2m6b3gfg==
-----END CERTIFICATE-----
`

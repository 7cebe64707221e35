#ifdef __cplusplus
extern "C" {
#endif

/// Throws inside and catches inside; returns the length of what the exception said.
int cplusplus_catch(const char *text);

#ifdef __cplusplus
}
#endif

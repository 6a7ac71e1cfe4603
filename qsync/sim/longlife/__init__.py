"""One cluster that lives for days: quiet hours, busy hours, and troubles minutes apart."""
